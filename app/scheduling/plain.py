"""Plain problems: one matrix of channels, one receiver."""

import numpy as np

from app.scheduling.bounding import bounded
from app.scheduling.coordination import coordinated
from app.scheduling.kernels import formulas
from app.scheduling.kind import Kind
from app.scheduling.polishing import polish
from app.scheduling.problem import LARGEST, Problem
from app.scheduling.schedule import Schedule
from app.scheduling.scheduler import Context, Selection
from app.scheduling.spec import SolveSpec
from app.scheduling.stopping import NEVER
from app.scheduling.types import ComplexArray, IndexArray, MaskArray
from app.scheduling.verification import require_unbroken, verify

EXAMPLE = Problem(np.array([[1.0, 0.2j], [0.3, 1.0]]), np.ones(2), gamma=1.0)
"""A round with two antennas and two devices."""

_STARTS = 8


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
    if broken:
        # With wrong estimates, the tolerance is kept by the search over schedules like this one.
        keeps_tolerance = spec.scheduler.keeps_tolerance and not problem.uncertain
        require_unbroken(broken, feasible=schedule.feasible, keeps_tolerance=keeps_tolerance)
    return schedule


def _upper_bound(problem: Problem, schedule: Schedule, spec: SolveSpec, stop: MaskArray) -> float:
    """Return a proven bound on how many devices, or what value, any receiver serves."""
    known = problem.worth(schedule.active) if schedule.feasible else 0.0
    context = Context(spec.seed, stop)
    return problem.as_answered(bounded(problem, known, context, spec.bound_seconds))


def least_tolerance(
    problem: Problem, members: IndexArray, stop: MaskArray = NEVER
) -> tuple[ComplexArray, None, float]:
    """Return the receiver of the least error for ``members``, no phases, and the γ it needs.

    The best of a few starts, which are always the same: a local optimum, mostly the global one.

    Parameters
    ----------
    stop
        (1,) mask; when it becomes true, the best so far is returned.
    """
    weights = problem.weights[members]
    channels = np.ascontiguousarray(problem.channels[:, members])
    # With the largest tolerance, so that nothing but the least error is asked of the receiver.
    alone = Problem(
        channels, weights, LARGEST, problem.power, problem.noise_variance, problem.errors[members]
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
    return best, None, float(least * problem.power / problem.noise_variance)


PLAIN = Kind(
    name="",
    problem=Problem,
    schedulers="app.scheduling.schedulers",
    answer=answer,
    verify=verify,
    upper_bound=_upper_bound,
    least_tolerance=least_tolerance,
    example=EXAMPLE,
)
