"""Solving the rounds of one request one after the other: in a thread or in a separate process."""

import time
from collections.abc import Sequence
from dataclasses import replace

from app.scheduling import AnyProblem, Schedule, SolveSpec, solve_specified, with_bound
from app.scheduling.stopping import flag_after
from app.scheduling.types import MaskArray

Problems = Sequence[AnyProblem]


def solve_each(problems: Problems, spec: SolveSpec, stop: MaskArray) -> list[Schedule]:
    """Return the schedule of every problem.

    Bounds come last, so that a deadline that cuts them short leaves every schedule.
    """
    without_bound = replace(spec, bound=False, bound_ms=None) if spec.bound else spec
    schedules = [solve_specified(problem, without_bound, stop) for problem in problems]
    if not spec.bound:
        return schedules
    return [
        with_bound(problem, schedule, spec, stop)
        for problem, schedule in zip(problems, schedules, strict=True)
    ]


def solve_until(problems: Problems, spec: SolveSpec, search_ends: float) -> list[Schedule]:
    """Solve in a separate process, which does not see the flag of the service's.

    Parameters
    ----------
    search_ends
        When to stop, as :func:`time.monotonic` tells it.
    """
    with flag_after(search_ends - time.monotonic()) as stop:
        return solve_each(problems, spec, stop)
