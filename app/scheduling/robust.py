r"""Scheduling when the channel estimates may be wrong.

With zero forcing on estimates that are wrong by up to :math:`e_k`, the error of the aggregate is up
to :math:`\sum_S \phi_k^2 e_k^2/|h_k^H c|^2 + \sigma^2/\eta`
(:mod:`app.scheduling.coordination`). What a device may cost therefore depends on the others. If all
of S reach :math:`|h_k^H c|^2 \ge \phi_k^2/\gamma'`, this is at most
:math:`\gamma'(\sum_S e_k^2 + \sigma^2/P)`, so the tolerance ε holds for

.. math:: \gamma' = \frac{\gamma}{1 + bP/\sigma^2}, \qquad b \ge \sum_{k\in S} e_k^2 .

The algorithm solves the round as if the estimates were right, with the tolerance γ' that a share b
of the squared errors leaves, and the worst case of its schedule is computed exactly. Bisection
looks for the smallest b whose schedule keeps ε; b for all devices always does.

Cost: :func:`attempts` solves.
"""

import math
from dataclasses import replace

import numpy as np

from app.scheduling.any_problem import AnyProblem
from app.scheduling.registry import KINDS
from app.scheduling.schedule import Schedule
from app.scheduling.scheduler import Context, DeadlineExceededError, Selection
from app.scheduling.spec import SolveSpec
from app.scheduling.types import MaskArray

_ENOUGH = 1 + 1e-6
"""Factor of the squared errors of all devices, so that rounding cannot break the tolerance."""


def attempts(devices: int) -> int:
    """Return how many solves there are: for all errors, for none, and until b is known."""
    return 3 + math.ceil(math.log2(max(1, devices)))


def solve_robust(problem: AnyProblem, spec: SolveSpec, stop: MaskArray) -> Schedule:
    """Return the best schedule found whose error is within the tolerance in the worst case."""
    low, high = 0.0, _ENOUGH * float(np.sum(problem.errors**2))
    best: Schedule | None = None
    iterations = 0
    budget = high
    for attempt in range(attempts(problem.devices)):
        try:
            found = _solved_for(problem, spec, budget, stop)
        except DeadlineExceededError:
            if best is None:
                raise
            best = best._replace(stopped="deadline")
            break
        iterations += found.iterations
        if best is None or (found.feasible and _rank(problem, found) > _rank(problem, best)):
            best = found if found.feasible else _emptied(problem, found, spec, stop)
        if stop[0]:
            best = best._replace(stopped="deadline")
            break
        if attempt == 0:
            # With all errors allowed for, a schedule keeps the tolerance. Now with none.
            budget = low
            continue
        if found.feasible or found.active.size == 0:
            # A device that one tolerance excludes, a smaller one excludes too.
            high = budget
        else:
            low = budget
        if high == 0.0:
            break
        budget = (low + high) / 2
    assert best is not None
    return best._replace(iterations=iterations)


def _solved_for(problem: AnyProblem, spec: SolveSpec, budget: float, stop: MaskArray) -> Schedule:
    """Solve with the tolerance that ``budget`` leaves; the schedule may not keep the real one."""
    answer = KINDS[type(problem)].answer
    exact = problem.exact(budget)
    context = Context(spec.seed, stop, spec.warm_start)
    schedule = answer(exact, spec.scheduler.select(exact, spec.parameters, context), spec, stop)
    if schedule.receiver is None:
        return schedule
    active = np.zeros(problem.devices, np.bool_)
    active[schedule.active] = True
    selection = Selection(
        schedule.receiver, active, schedule.iterations, schedule.stopped, schedule.phases
    )
    # The receiver is polished already.
    return answer(problem, selection, replace(spec, polish=False), stop)


def _emptied(problem: AnyProblem, schedule: Schedule, spec: SolveSpec, stop: MaskArray) -> Schedule:
    """Return the schedule without any device."""
    nowhere = np.zeros(problem.receiver_shape, np.complex128)
    nobody = np.zeros(problem.devices, np.bool_)
    selection = Selection(nowhere, nobody, 0, schedule.stopped, schedule.phases)
    return KINDS[type(problem)].answer(problem, selection, replace(spec, polish=False), stop)


def _rank(problem: AnyProblem, schedule: Schedule) -> tuple[float, float]:
    """Return what to compare schedules by: the value of the devices, then the error."""
    return problem.worth(schedule.active), -(schedule.computation_error or 0.0)
