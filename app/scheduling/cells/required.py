"""Devices that must take part: a receiver that serves all of them, and the tolerance it takes."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from app.scheduling.coordination import coordinated
from app.scheduling.polishing import polish
from app.scheduling.problem import LARGEST, Problem
from app.scheduling.schedule import Schedule
from app.scheduling.scheduler import Selection
from app.scheduling.spec import SolveSpec
from app.scheduling.types import ComplexArray, IndexArray

_STARTS = 8


def with_required(
    problem: Problem,
    required: IndexArray,
    schedule: Schedule,
    solve: Callable[[Problem, SolveSpec], Schedule],
    spec: SolveSpec,
) -> Schedule:
    """Return a schedule with all ``required`` devices, or nobody and the tolerance they need.

    If ``schedule`` misses one of them, the algorithm starts again from the receiver of the least
    error for all of them; what that receiver serves is the least that is returned.
    """
    missing = np.setdiff1d(required, schedule.active)
    if missing.size == 0:
        return schedule
    receiver, gamma = least_tolerance(problem, required)
    served = problem.served(receiver)
    if not served[required].all():
        given = Selection(receiver, np.zeros_like(served), schedule.iterations, schedule.stopped)
        nobody = solve(problem, _given(given, spec))
        return nobody._replace(
            upper_bound=schedule.upper_bound, required_missing=missing, required_gamma=gamma
        )
    if schedule.stopped != "deadline":
        again = solve(problem, replace(spec, warm_start=receiver))
        if np.isin(required, again.active).all():
            return again
    given = Selection(receiver, served, schedule.iterations, schedule.stopped)
    return solve(problem, _given(given, spec))


def _given(selection: Selection, spec: SolveSpec) -> SolveSpec:
    """Return ``spec`` with a scheduler that returns ``selection``."""
    return replace(spec, scheduler=replace(spec.scheduler, select=lambda *_: selection))


def least_tolerance(problem: Problem, members: IndexArray) -> tuple[ComplexArray, float]:
    """Return the receiver of the least error for ``members``, and the tolerance γ it needs.

    The best of a few starts, which are always the same: a local optimum, mostly the global one.
    """
    weights = problem.weights[members]
    channels = np.ascontiguousarray(problem.channels[:, members])
    csi_error = np.broadcast_to(problem.csi_error, problem.devices)[members]
    # With the largest tolerance, so that nothing but the least error is asked of the receiver.
    alone = Problem(
        channels, weights, LARGEST, problem.power, problem.noise_variance, csi_error.copy()
    )
    everyone = np.ones(members.size, np.bool_)
    rng = np.random.default_rng(0)
    mixtures = rng.standard_normal((_STARTS, members.size, 2)) @ [1, 1j]
    norms = np.linalg.norm(channels, axis=0)
    best, least = np.zeros(problem.antennas, np.complex128), np.inf
    best[0] = 1.0
    for mixture in mixtures:
        start = (channels / np.where(norms > 0, norms, 1.0)) @ mixture
        if not np.abs(start.conj() @ channels).min() > 0:
            continue
        receiver, _ = polish(alone, start, everyone)
        error = coordinated(alone, receiver, everyone, "zero_forcing").computation_error
        if error < least:
            best, least = receiver, error
    return best, float(least * problem.power / problem.noise_variance)
