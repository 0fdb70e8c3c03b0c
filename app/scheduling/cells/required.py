"""Devices that must take part: a receiver that serves all of them, and the tolerance it takes."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from app.scheduling.coordination import coordinated
from app.scheduling.irs import least_tolerance as surface
from app.scheduling.irs.problem import IrsProblem
from app.scheduling.polishing import polish
from app.scheduling.problem import LARGEST, Problem
from app.scheduling.schedule import Schedule
from app.scheduling.scheduler import Context, Selection
from app.scheduling.spec import SolveSpec
from app.scheduling.types import ComplexArray, IndexArray, MaskArray

_STARTS = 8
_NEVER = np.zeros(1, np.bool_)


def with_required(
    problem: Problem | IrsProblem,
    required: IndexArray,
    schedule: Schedule,
    solve: Callable[[Problem | IrsProblem, SolveSpec], Schedule],
    spec: SolveSpec,
) -> Schedule:
    """Return a schedule with all ``required`` devices, or nobody and the tolerance they need.

    If ``schedule`` misses one of them, the algorithm starts again from the receiver (and phases) of
    the least error for all of them; what that serves is the least that is returned.
    """
    missing = np.setdiff1d(required, schedule.active)
    if missing.size == 0:
        return schedule
    served = _Served(required, schedule)
    given = solve(problem, replace(spec, scheduler=replace(spec.scheduler, select=served.select)))
    if given.active.size == 0:
        return given._replace(
            upper_bound=schedule.upper_bound,
            required_missing=missing,
            required_gamma=served.gamma if np.isfinite(served.gamma) else None,
        )
    if schedule.stopped == "deadline":
        return given
    if isinstance(problem, IrsProblem):
        problem = replace(problem, initial_phases=given.phases)
    again = solve(problem, replace(spec, warm_start=served.receiver))
    return again if np.isin(required, again.active).all() else given


class _Served:
    """An algorithm that serves the required devices, or nobody; and what it takes to serve them."""

    receiver: ComplexArray
    gamma: float

    def __init__(self, required: IndexArray, before: Schedule) -> None:
        self._required = required
        self._before = before

    def select(self, problem: Problem | IrsProblem, _: Any, context: Context) -> Selection:
        """Look for the receiver of the least error for the required devices."""
        phases = None
        if isinstance(problem, IrsProblem):
            found = surface.least_tolerance(problem, self._required, context.stop)
            self.receiver, phases, self.gamma = found
            problem = problem.tuned(phases)
        else:
            self.receiver, self.gamma = least_tolerance(problem, self._required, context.stop)
        active = problem.served(self.receiver)
        if not active[self._required].all():
            active = np.zeros_like(active)
        ended = (self._before.iterations, self._before.stopped)
        return Selection(self.receiver, active, *ended, phases)


def least_tolerance(
    problem: Problem, members: IndexArray, stop: MaskArray = _NEVER
) -> tuple[ComplexArray, float]:
    """Return the receiver of the least error for ``members``, and the tolerance γ it needs.

    The best of a few starts, which are always the same: a local optimum, mostly the global one.

    Parameters
    ----------
    stop
        (1,) mask; when it becomes true, the best so far is returned.
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
        receiver, _ = polish(alone, start, everyone, stop)
        error = coordinated(alone, receiver, everyone, "zero_forcing").computation_error
        if error < least:
            best, least = receiver, error
        if stop[0]:
            break
    return best, float(least * problem.power / problem.noise_variance)
