"""problem → scheduler → coordination → verified schedule."""

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from app.scheduling.any_problem import AnyProblem
from app.scheduling.cells.required import with_required
from app.scheduling.cells.transform import StatedProblem
from app.scheduling.registry import KINDS, schedulers_of
from app.scheduling.robust import solve_robust
from app.scheduling.schedule import Schedule
from app.scheduling.scheduler import Context, Parameters
from app.scheduling.spec import SolveSpec
from app.scheduling.stopping import flag_after
from app.scheduling.types import MaskArray
from app.scheduling.verification import require_within_bound


def solve(
    problem: AnyProblem,
    algorithm: str = "matching_pursuit",
    parameters: Parameters | None = None,
    stop: MaskArray | None = None,
    **options: Any,
) -> Schedule:
    """Run one algorithm, given by its name, on one problem and return its verified schedule.

    Parameters
    ----------
    algorithm
        A name from :func:`app.scheduling.registry.schedulers_of` the problem.
    parameters
        An instance of that scheduler's parameters; its defaults if None.
    stop
        (1,) mask, set from outside when the deadline has passed.
    options
        The other fields of :class:`SolveSpec`.

    Raises
    ------
    InvalidProblemError
        The problem cannot be solved this way.
    DeadlineExceededError
        ``stop`` was set before there was anything to answer.
    """
    scheduler = schedulers_of(problem)[algorithm]
    spec = SolveSpec(scheduler, parameters or scheduler.parameters(), **options)
    spec.require_suited(problem)
    return solve_specified(problem, spec, stop)


def solve_specified(
    problem: AnyProblem, spec: SolveSpec, stop: MaskArray | None = None
) -> Schedule:
    """Solve one problem as ``spec`` says and return the verified schedule.

    Parameters
    ----------
    problem
        One that ``spec.require_suited`` has accepted.
    stop
        (1,) mask, set from outside when the deadline has passed.

    Raises
    ------
    DeadlineExceededError
        ``stop`` was set before there was anything to answer.
    """
    (schedule,) = solve_each([problem], spec, np.zeros(1, np.bool_) if stop is None else stop)
    return schedule


def _solve_standard(problem: AnyProblem, spec: SolveSpec, stop: MaskArray) -> Schedule:
    if problem.uncertain and spec.scheduler.keeps_tolerance:
        return solve_robust(problem, spec, stop)
    context = Context(spec.seed, stop, spec.warm_start)
    selection = spec.scheduler.select(problem, spec.parameters, context)
    return KINDS[type(problem)].answer(problem, selection, spec, stop)


def _solve_in_standard(problem: AnyProblem, spec: SolveSpec, stop: MaskArray) -> Schedule:
    """Solve the standard problem; return its schedule in the coordinates of ``problem``."""
    standard = problem.standard
    spec = replace(spec, warm_start=problem.to_standard(spec.warm_start))
    schedule = _solve_standard(standard, spec, stop)
    if problem.required.size:
        kind, solve = KINDS[type(standard)], partial(_solve_standard, stop=stop)
        required = problem.to_standard_set(problem.required)
        schedule = with_required(standard, kind, required, schedule, solve, spec)
    return problem.restored(schedule, spec.coordination, spec.scheduler.keeps_tolerance)


def solve_each(problems: Sequence[AnyProblem], spec: SolveSpec, stop: MaskArray) -> list[Schedule]:
    """Return the schedule of every problem.

    Bounds come last, so that a deadline that cuts them short leaves every schedule.
    """
    schedules = [_solved(problem, spec, stop) for problem in problems]
    if not (spec.bound or spec.scheduler.proves):
        return schedules
    return [
        with_bound(problem, schedule, spec, stop)
        for problem, schedule in zip(problems, schedules, strict=True)
    ]


def _solved(problem: AnyProblem, spec: SolveSpec, stop: MaskArray) -> Schedule:
    in_coordinates = _solve_standard if problem.standard is problem else _solve_in_standard
    return in_coordinates(problem, spec, stop)


def solve_until(
    problems: Sequence[AnyProblem], spec: SolveSpec, search_ends: float
) -> list[Schedule]:
    """Solve in a separate process, which does not see the service's flag.

    Parameters
    ----------
    search_ends
        When to stop, as :func:`time.monotonic` tells it.
    """
    with flag_after(search_ends - time.monotonic()) as stop:
        return solve_each(problems, spec, stop)


def with_bound(
    problem: AnyProblem, schedule: Schedule, spec: SolveSpec, stop: MaskArray | None = None
) -> Schedule:
    """Return ``schedule`` with a bound, proven now unless it has one, that it does not exceed."""
    if schedule.upper_bound is None:
        stop = np.zeros(1, np.bool_) if stop is None else stop
        known = schedule._replace(active=problem.to_standard_set(schedule.active))
        kind = KINDS[type(problem.standard)]
        bound = kind.upper_bound(problem.standard, known, spec, stop)
        schedule = problem.with_bound(schedule, bound)
    require_within_bound(schedule)
    return schedule


def verify(problem: AnyProblem, schedule: Schedule, **options: Any) -> None:
    """Check a schedule against the formulas of its kind, using only the numbers of the problem.

    One of a cell is checked in the cell's own coordinates.

    Parameters
    ----------
    options
        Those of the kind, or of :meth:`StatedProblem.verify`: see
        :func:`app.scheduling.verification.verify`.

    Raises
    ------
    VerificationError
        A formula does not hold.
    """
    if isinstance(problem, StatedProblem):
        problem.verify(schedule, **options)
    else:
        KINDS[type(problem)].verify(problem, schedule, **options)
