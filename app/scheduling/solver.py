"""problem → scheduler → coordination → verified schedule."""

import math

import numpy as np

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
    active = np.flatnonzero(selection.active)
    if active.size == 0:
        return Schedule(
            feasible=False,
            active=active,
            receiver=None,
            power_factor=None,
            computation_error=None,
            transmit_scalars=np.zeros(problem.devices, np.complex128),
            iterations=selection.iterations,
            stopped=selection.stopped,
        )
    receiver = selection.receiver / math.sqrt(np.vdot(selection.receiver, selection.receiver).real)
    coordination = zero_forcing(problem, receiver, active)
    return Schedule(
        feasible=scheduler.keeps_tolerance or bool(problem.served(receiver)[active].all()),
        active=active,
        receiver=receiver,
        power_factor=coordination.power_factor,
        computation_error=coordination.computation_error,
        transmit_scalars=coordination.transmit_scalars,
        iterations=selection.iterations,
        stopped=selection.stopped,
    )
