"""Calls that schedule many channels with one algorithm: how many devices, and how long it takes."""

import time
from typing import Any, Literal

import numpy as np
from threadpoolctl import threadpool_limits

from app.compilation import SMALL
from app.scheduling import Problem, schedulers_of, solve
from experiments.runner import Runner
from lab.problems import iid_problems, network_problems

Model = Literal["iid", "network"]
Call = dict[str, Any]

SEED = 2022
"""Of the first chunk of channels; the following chunks have the following seeds."""
SMALL_DELTA, FITTED_DELTA = 0.1, 0.69
"""The paper advises a "small enough" δ and gives none; the second fits its Figure 3 best."""

ALGORITHMS: dict[str, tuple[str, dict[str, Any]]] = {
    "matching_pursuit": ("matching_pursuit", {"delta": SMALL_DELTA}),
    "matching_pursuit_fitted": ("matching_pursuit", {"delta": FITTED_DELTA}),
    "matching_pursuit_default": ("matching_pursuit", {}),
    "bidirectional": ("matching_pursuit", {"search": "bidirectional"}),
    "dual_pursuit": ("dual_pursuit", {}),
    "dc": ("dc", {}),
    "dc_clarabel": ("dc", {"solver": "clarabel"}),
    "sdr": ("sdr", {"reading": "prefix"}),
    "sdr_served": ("sdr", {}),
}
"""Series → algorithm and its parameters. Of sdr's readings ``prefix`` is closer to the paper's."""


def problems(
    model: Model, gamma_db: float, count: int, seed: int, antennas: int = 6, devices: int = 20
) -> list[Problem]:
    """Return channels of a model, the same at every call."""
    make = iid_problems if model == "iid" else network_problems
    return make(count, antennas, devices, gamma_db, seed)


def count_active(
    model: Model,
    algorithm: str,
    parameters: dict[str, Any],
    gamma_db: float,
    count: int,
    seed: int,
) -> list[int]:
    """Return |S| on each of ``count`` channels."""
    return [
        _solve(problem, algorithm, parameters) for problem in problems(model, gamma_db, count, seed)
    ]


def time_schedules(
    model: Model,
    algorithm: str,
    parameters: dict[str, Any],
    gamma_db: float,
    count: int,
    seed: int,
    antennas: int = 6,
    devices: int = 20,
) -> list[float]:
    """Return the seconds that each of ``count`` channels takes one core, with compiled kernels.

    They are the process's: what else runs on the machine does not count.
    """
    given = problems(model, gamma_db, count, seed, antennas, devices)
    # Whatever is loaded at the first use.
    _solve(SMALL, algorithm, parameters)
    seconds = []
    with threadpool_limits(1):
        for problem in given:
            started = time.process_time()
            _solve(problem, algorithm, parameters)
            seconds.append(time.process_time() - started)
    return seconds


def mean_active(
    runner: Runner, title: str, model: Model, points: dict[tuple[str, float], Call], chunk: int
) -> dict[str, dict[float, float]]:
    """Sweep over points, in chunks of channels, and return the mean |S| as curves.

    Parameters
    ----------
    points
        (series, x) → ``algorithm``, ``parameters``, ``gamma_db`` and ``count`` of the call.
    """
    calls, owners = [], []
    for owner, point in points.items():
        for number, first in enumerate(range(0, point["count"], chunk)):
            count = min(chunk, point["count"] - first)
            calls.append({**point, "model": model, "count": count, "seed": SEED + number})
            owners.append(owner)
    found: dict[tuple[str, float], list[int]] = {}
    for owner, counts in zip(owners, runner.sweep(title, count_active, calls), strict=True):
        found.setdefault(owner, []).extend(counts)
    curves: dict[str, dict[float, float]] = {}
    for (series, x), counts in found.items():
        curves.setdefault(series, {})[x] = float(np.mean(counts))
    return curves


def median_seconds(
    runner: Runner, title: str, points: dict[tuple[str, float], Call]
) -> dict[str, dict[float, float]]:
    """Time the points one after the other, and return the medians as curves."""
    calls = [{**point, "seed": SEED} for point in points.values()]
    curves: dict[str, dict[float, float]] = {}
    results = runner.sweep(title, time_schedules, calls, in_parallel=False)
    for (series, x), seconds in zip(points, results, strict=True):
        curves.setdefault(series, {})[x] = float(np.median(seconds))
    return curves


def point(series: str, gamma_db: float, count: int, **more: Any) -> Call:
    """Return the call of a series of :data:`ALGORITHMS`."""
    algorithm, parameters = ALGORITHMS[series]
    return {
        "algorithm": algorithm,
        "parameters": parameters,
        "gamma_db": gamma_db,
        "count": count,
        **more,
    }


def _solve(problem: Problem, algorithm: str, parameters: dict[str, Any]) -> int:
    made = schedulers_of(problem)[algorithm].parameters(**parameters)
    return int(solve(problem, algorithm, made).active.size)
