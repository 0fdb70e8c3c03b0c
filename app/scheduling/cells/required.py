"""Devices that must take part: a schedule with all of them, or the tolerance that takes."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from app.scheduling.any_problem import AnyProblem
from app.scheduling.kind import Kind
from app.scheduling.schedule import Schedule
from app.scheduling.scheduler import Context, Selection
from app.scheduling.spec import SolveSpec
from app.scheduling.types import ComplexArray, IndexArray


def with_required(
    problem: AnyProblem,
    kind: Kind,
    required: IndexArray,
    schedule: Schedule,
    solve: Callable[[AnyProblem, SolveSpec], Schedule],
    spec: SolveSpec,
) -> Schedule:
    """Return a schedule with all ``required`` devices, or nobody and the tolerance they need.

    If ``schedule`` misses one of them, the algorithm starts again from the receiver (and phases) of
    the least error for all of them; the result serves at least those devices.

    Parameters
    ----------
    problem, kind
        A standard problem, and its kind.
    """
    missing = np.setdiff1d(required, schedule.active)
    if missing.size == 0:
        return schedule
    served = _Served(kind, required, schedule)
    given = solve(problem, replace(spec, scheduler=replace(spec.scheduler, select=served.select)))
    if given.active.size == 0:
        return given._replace(
            upper_bound=schedule.upper_bound,
            required_missing=missing,
            required_gamma=served.gamma if np.isfinite(served.gamma) else None,
        )
    if schedule.stopped == "deadline":
        return given
    problem = problem.starting_at(given.phases)
    again = solve(problem, replace(spec, warm_start=served.receiver))
    return again if np.isin(required, again.active).all() else given


class _Served:
    """An algorithm that serves the required devices, or nobody; and what it takes to serve them."""

    receiver: ComplexArray
    gamma: float

    def __init__(self, kind: Kind, required: IndexArray, before: Schedule) -> None:
        self._kind = kind
        self._required = required
        self._before = before

    def select(self, problem: Any, _: Any, context: Context) -> Selection:
        """Look for the receiver of the least error for the required devices."""
        found = self._kind.least_tolerance(problem, self._required, context.stop)
        self.receiver, phases, self.gamma = found
        active = problem.tuned(phases).served(self.receiver)
        if not active[self._required].all():
            active = np.zeros_like(active)
        ended = (self._before.iterations, self._before.stopped)
        return Selection(self.receiver, active, *ended, phases)
