"""problem → scheduler → coordination → verified schedule."""

from typing import Any

import numpy as np

from app.scheduling.bounding import bounded
from app.scheduling.coordination import coordinated
from app.scheduling.irs.problem import IrsProblem
from app.scheduling.kernels import formulas
from app.scheduling.polishing import polish as polished
from app.scheduling.problem import Problem
from app.scheduling.registry import schedulers_of
from app.scheduling.schedule import Schedule, VerificationError, require_unbroken, tuned_problem
from app.scheduling.scheduler import Context, Parameters, Selection
from app.scheduling.spec import BOUND_MS, SolveSpec
from app.scheduling.types import MaskArray


def solve(
    problem: Problem | IrsProblem,
    algorithm: str = "matching_pursuit",
    parameters: Parameters | None = None,
    context: Context | None = None,
    **options: Any,
) -> Schedule:
    """Run one algorithm, given by its name, on one problem and return its verified schedule.

    Parameters
    ----------
    algorithm
        A name from :func:`app.scheduling.registry.schedulers_of` the problem.
    parameters
        An instance of that scheduler's parameters; its defaults if None.
    context
        Seed, stop flag and warm start.
    options
        The other fields of :class:`SolveSpec`.
    """
    scheduler, context = schedulers_of(problem)[algorithm], context or Context()
    spec = SolveSpec(
        scheduler,
        parameters or scheduler.parameters(),
        seed=context.seed,
        warm_start=context.warm_start,
        **options,
    )
    return solve_specified(problem, spec, context.stop)


def solve_specified(
    problem: Problem | IrsProblem, spec: SolveSpec, stop: MaskArray | None = None
) -> Schedule:
    """Solve one problem as ``spec`` says and return the verified schedule.

    Parameters
    ----------
    stop
        (1,) mask, set from outside when the deadline has passed.

    Raises
    ------
    InvalidProblemError
        The problem cannot be solved this way.
    DeadlineExceededError
        ``stop`` was set before there was anything to answer.
    """
    schedule = _scheduled(problem, spec, np.zeros(1, np.bool_) if stop is None else stop)
    return with_bound(problem, schedule, spec, stop) if spec.bound else schedule


def _scheduled(problem: Problem | IrsProblem, spec: SolveSpec, stop: MaskArray) -> Schedule:
    """Return the verified schedule, without a bound unless its scheduler has one."""
    spec.require_suited(problem)
    scheduler = spec.scheduler
    context = Context(spec.seed, stop, spec.warm_start)
    selection = scheduler.select(problem, spec.parameters, context)
    problem = tuned_problem(problem, selection.phases, uses_surface=scheduler.uses_surface)
    if spec.polish:
        receiver, active = polished(problem, selection.receiver, selection.active, stop)
        stopped = "deadline" if stop[0] else selection.stopped
        selection = selection._replace(receiver=receiver, active=active, stopped=stopped)
    return verified_schedule(problem, spec, selection)


def verified_schedule(problem: Problem, spec: SolveSpec, selection: Selection) -> Schedule:
    """Coordinate the active devices of ``selection`` as ``spec`` says, and verify the schedule.

    Parameters
    ----------
    problem
        With the tuned channels, if there is a surface.
    """
    receiver, active, power_factor, error, scalars, broken = coordinated(
        problem, selection.receiver, selection.active, spec.coordination
    )
    schedule = Schedule(
        broken != formulas.TOLERANCE,
        active,
        receiver,
        power_factor,
        error,
        scalars,
        selection.iterations,
        selection.stopped,
        selection.phases,
        selection.upper_bound,
    )
    if active.size == 0:
        return schedule._replace(
            feasible=False, receiver=None, power_factor=None, computation_error=None
        )
    keeps_tolerance = spec.scheduler.keeps_tolerance
    require_unbroken(broken, feasible=schedule.feasible, keeps_tolerance=keeps_tolerance)
    return _checked(schedule)


def with_bound(
    problem: Problem | IrsProblem,
    schedule: Schedule,
    spec: SolveSpec,
    stop: MaskArray | None = None,
) -> Schedule:
    """Return a verified ``schedule`` with a bound, unless it has one."""
    if schedule.upper_bound is not None or isinstance(problem, IrsProblem):
        return schedule
    served = schedule.active.size if schedule.feasible else 0
    context = Context(spec.seed, np.zeros(1, np.bool_) if stop is None else stop)
    upper_bound = bounded(problem, served, context, (spec.bound_ms or BOUND_MS) / 1e3)
    return _checked(schedule._replace(upper_bound=upper_bound))


def _checked(schedule: Schedule) -> Schedule:
    """Return ``schedule``; raise :class:`VerificationError` if it exceeds its bound."""
    bound = schedule.upper_bound
    if bound is not None and schedule.feasible and schedule.active.size > bound:
        raise VerificationError("more devices are served than were proven possible")
    return schedule
