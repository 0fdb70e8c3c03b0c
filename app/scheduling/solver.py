"""problem → scheduler → coordination → verified schedule."""

from functools import partial
from typing import Any

import numpy as np

from app.scheduling.any_problem import AnyProblem
from app.scheduling.registry import kind_of, schedulers_of
from app.scheduling.robust import solve_robust
from app.scheduling.schedule import Schedule
from app.scheduling.scheduler import Context, Parameters
from app.scheduling.spec import SolveSpec
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
    stop = np.zeros(1, np.bool_) if stop is None else stop
    schedule = problem.solved(partial(_solve_standard, stop), spec)
    needs_bound = spec.bound or spec.scheduler.proves
    return with_bound(problem, schedule, spec, stop) if needs_bound else schedule


def _solve_standard(stop: MaskArray, problem: AnyProblem, spec: SolveSpec) -> Schedule:
    if problem.uncertain and spec.scheduler.keeps_tolerance:
        return solve_robust(problem, spec, stop)
    context = Context(spec.seed, stop, spec.warm_start)
    selection = spec.scheduler.select(problem, spec.parameters, context)
    return kind_of(problem).answer(problem, selection, spec, stop)


def with_bound(
    problem: AnyProblem, schedule: Schedule, spec: SolveSpec, stop: MaskArray | None = None
) -> Schedule:
    """Return a verified ``schedule`` with a bound, unless it has one."""
    upper_bound = kind_of(problem).upper_bound
    if schedule.upper_bound is not None or upper_bound is None:
        return schedule
    stop = np.zeros(1, np.bool_) if stop is None else stop
    known = schedule._replace(active=problem.to_standard_set(schedule.active))
    bound = upper_bound(problem.standard, known, spec, stop)
    bounded = problem.with_bound(schedule, bound)
    require_within_bound(bounded)
    return bounded


def verify(problem: AnyProblem, schedule: Schedule, **options: Any) -> None:
    """Check a schedule against the formulas of its kind, using only the numbers of the problem.

    Parameters
    ----------
    options
        Those of the kind: see :func:`app.scheduling.verification.verify`.

    Raises
    ------
    VerificationError
        A formula does not hold.
    """
    kind_of(problem).verify(problem, schedule, **options)
