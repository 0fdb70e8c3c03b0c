"""problem → scheduler → coordination → verified schedule."""

from app.scheduling.coordination import zero_forcing
from app.scheduling.problem import Problem
from app.scheduling.registry import SCHEDULERS
from app.scheduling.schedule import Schedule, verify
from app.scheduling.scheduler import Context, Parameters, Scheduler, Selection


def solve(
    problem: Problem,
    algorithm: str = "matching_pursuit",
    parameters: Parameters | None = None,
    context: Context | None = None,
) -> Schedule:
    """Run one algorithm on one problem and return its verified schedule.

    Parameters
    ----------
    algorithm
        A name from :data:`app.scheduling.registry.SCHEDULERS`.
    parameters
        An instance of that scheduler's parameters; its defaults if None.

    Raises
    ------
    DeadlineExceededError
        ``context.stop`` was set before there was anything to answer.
    """
    scheduler = SCHEDULERS[algorithm]
    selection = scheduler.select(
        problem, parameters or scheduler.parameters(), context or Context()
    )
    schedule = _complete(problem, scheduler, selection)
    verify(problem, schedule, keeps_tolerance=scheduler.keeps_tolerance)
    return schedule


def _complete(problem: Problem, scheduler: Scheduler, selection: Selection) -> Schedule:
    receiver, active, power_factor, error, scalars = zero_forcing(
        problem, selection.receiver, selection.active
    )
    if active.size == 0:
        return Schedule(
            False, active, None, None, None, scalars, selection.iterations, selection.stopped
        )
    feasible = scheduler.keeps_tolerance or bool(problem.served(receiver)[active].all())
    return Schedule(
        feasible,
        active,
        receiver,
        power_factor,
        error,
        scalars,
        selection.iterations,
        selection.stopped,
    )
