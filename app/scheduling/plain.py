"""Plain problems: one matrix of channels, one receiver."""

from app.scheduling.bounding import bounded
from app.scheduling.coordination import coordinated
from app.scheduling.kernels import formulas
from app.scheduling.kind import Kind
from app.scheduling.polishing import polish
from app.scheduling.problem import Problem
from app.scheduling.schedule import Schedule
from app.scheduling.scheduler import Context, Selection
from app.scheduling.spec import BOUND_MS, SolveSpec
from app.scheduling.types import MaskArray
from app.scheduling.verification import require_unbroken, require_within_bound, verify


def answer(problem: Problem, selection: Selection, spec: SolveSpec, stop: MaskArray) -> Schedule:
    """Polish the receiver if asked, coordinate the active devices, and verify the schedule."""
    if spec.polish:
        receiver, active = polish(problem, selection.receiver, selection.active, stop)
        stopped = "deadline" if stop[0] else selection.stopped
        selection = selection._replace(receiver=receiver, active=active, stopped=stopped)
    receiver, indices, power_factor, worst, nominal, scalars, broken = coordinated(
        problem, selection.receiver, selection.active, spec.coordination
    )
    schedule = Schedule(
        broken != formulas.TOLERANCE,
        indices,
        receiver,
        power_factor,
        worst,
        scalars,
        selection.iterations,
        selection.stopped,
        selection.phases,
        selection.upper_bound,
        worth=None if problem.priorities is None else problem.as_answered(problem.worth(indices)),
        nominal_error=nominal if problem.uncertain else None,
    )
    if indices.size == 0:
        return schedule._replace(
            feasible=False,
            receiver=None,
            power_factor=None,
            computation_error=None,
            nominal_error=None,
        )
    # With wrong estimates, the tolerance is kept by the search over schedules like this one.
    keeps_tolerance = spec.scheduler.keeps_tolerance and not problem.uncertain
    require_unbroken(broken, feasible=schedule.feasible, keeps_tolerance=keeps_tolerance)
    require_within_bound(schedule)
    return schedule


def _upper_bound(problem: Problem, schedule: Schedule, spec: SolveSpec, stop: MaskArray) -> float:
    """Return a proven bound on how many devices, or what value, any receiver serves."""
    known = problem.worth(schedule.active) if schedule.feasible else 0.0
    seconds = (spec.bound_ms or BOUND_MS) / 1e3
    return problem.as_answered(bounded(problem, known, Context(spec.seed, stop), seconds))


PLAIN = Kind(
    name="",
    problem=Problem,
    schedulers="app.scheduling.schedulers",
    answer=answer,
    verify=verify,
    upper_bound=_upper_bound,
)
