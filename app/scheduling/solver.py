"""problem → scheduler → coordination → verified schedule."""

from app.scheduling.coordination import Method, coordinated
from app.scheduling.irs.problem import IrsProblem
from app.scheduling.kernels import formulas
from app.scheduling.polishing import polish as polished
from app.scheduling.problem import Problem
from app.scheduling.registry import schedulers_of
from app.scheduling.schedule import Schedule, require_unbroken, tuned_problem
from app.scheduling.scheduler import Context, Parameters


def solve(
    problem: Problem | IrsProblem,
    algorithm: str = "matching_pursuit",
    parameters: Parameters | None = None,
    context: Context | None = None,
    *,
    coordination: Method = "zero_forcing",
    polish: bool = False,
) -> Schedule:
    """Run one algorithm on one problem and return its verified schedule.

    Parameters
    ----------
    algorithm
        A name from :func:`app.scheduling.registry.schedulers_of` the problem.
    parameters
        An instance of that scheduler's parameters; its defaults if None.
    coordination
        How η and ψ are set once the receiver and the active set are known.
    polish
        Replace the receiver by the one with the least error for the set found, and take in
        everyone whom it serves.

    Raises
    ------
    InvalidProblemError
        This algorithm does not take this problem.
    DeadlineExceededError
        ``context.stop`` was set before there was anything to answer.
    """
    scheduler = schedulers_of(problem)[algorithm]
    scheduler.require_suited(problem)
    context = context or Context()
    selection = scheduler.select(problem, parameters or scheduler.parameters(), context)
    phases = selection.phases
    problem = tuned_problem(problem, phases, uses_surface=scheduler.uses_surface)
    found = (selection.receiver, selection.active)
    if polish:
        found = polished(problem, *found, context.stop)
    receiver, active, power_factor, error, scalars, broken = coordinated(
        problem, *found, coordination
    )
    iterations, stopped = selection.iterations, selection.stopped
    if polish and context.stop[0]:
        stopped = "deadline"
    if active.size == 0:
        return Schedule(False, active, None, None, None, scalars, iterations, stopped, phases)
    feasible = broken != formulas.TOLERANCE
    require_unbroken(broken, feasible=feasible, keeps_tolerance=scheduler.keeps_tolerance)
    return Schedule(
        feasible, active, receiver, power_factor, error, scalars, iterations, stopped, phases
    )
