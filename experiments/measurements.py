"""Calls that schedule many channels with one algorithm: how many devices, and how long it takes.

Every argument must be given, and every parameter of the algorithm: the cache is keyed by them.
"""

import time
from dataclasses import fields
from typing import Any

from threadpoolctl import threadpool_limits

from app.scheduling import SCHEDULERS, Parameters, solve
from app.scheduling.plain import EXAMPLE
from app.scheduling.stopping import flag_after
from lab.problems import ChannelModel, problems_of

PROOF_SECONDS = 300.0
"""How long a proof may take; at K = 20 and N = 6 they take a second or two at most."""


def count_active(
    model: ChannelModel,
    algorithm: str,
    parameters: dict[str, Any],
    gamma_db: float,
    count: int,
    seed: int,
    antennas: int,
    devices: int,
) -> list[int]:
    """Return |S| on each of ``count`` channels."""
    made = _complete(algorithm, parameters)
    return [
        int(solve(problem, algorithm, made).active.size)
        for problem in problems_of(model, count, antennas, devices, gamma_db, seed)
    ]


def count_proven(
    model: ChannelModel,
    algorithm: str,
    parameters: dict[str, Any],
    gamma_db: float,
    count: int,
    seed: int,
    antennas: int,
    devices: int,
) -> list[tuple[int, int]]:
    """Return |S| and its proven upper bound on each of ``count`` channels.

    They differ only where a proof takes longer than :data:`PROOF_SECONDS`.
    """
    made = _complete(algorithm, parameters)
    found = []
    for problem in problems_of(model, count, antennas, devices, gamma_db, seed):
        with flag_after(PROOF_SECONDS) as stop:
            schedule = solve(problem, algorithm, made, stop, bound=True)
        assert schedule.upper_bound is not None
        found.append((int(schedule.active.size), round(schedule.upper_bound)))
    return found


def time_schedules(
    model: ChannelModel,
    algorithm: str,
    parameters: dict[str, Any],
    gamma_db: float,
    count: int,
    seed: int,
    antennas: int,
    devices: int,
) -> list[float]:
    """Return the seconds of one core that each of ``count`` channels takes, kernels compiled.

    Only the process's own time counts, not what else runs on the machine.
    """
    made = _complete(algorithm, parameters)
    given = problems_of(model, count, antennas, devices, gamma_db, seed)
    # Load whatever the first use loads.
    solve(EXAMPLE, algorithm, made)
    seconds = []
    with threadpool_limits(1):
        for problem in given:
            started = time.process_time()
            solve(problem, algorithm, made)
            seconds.append(time.process_time() - started)
    return seconds


def _complete(algorithm: str, parameters: dict[str, Any]) -> Parameters:
    kind = SCHEDULERS[algorithm].parameters
    if missing := {field.name for field in fields(kind)} - parameters.keys():
        raise ValueError(f"{algorithm} needs every parameter: {', '.join(sorted(missing))} missing")
    return kind(**parameters)
