"""The devices that every subcarrier serves when each is scheduled alone."""

from dataclasses import replace

import numpy as np

from app.scheduling.scheduler import Context, DeadlineExceededError, Selection
from app.scheduling.schedulers import dual_pursuit
from app.scheduling.schedulers.dual_pursuit import DualPursuitParameters
from app.scheduling.types import IndexArray
from app.scheduling.wideband.problem import WidebandProblem


def intersect(
    problem: WidebandProblem,
    parameters: DualPursuitParameters,
    context: Context,
    beyond: float = 0.0,
    order: IndexArray | None = None,
) -> Selection | None:
    """Schedule every subcarrier by dual pursuit, and return whom all of them serve.

    Parameters
    ----------
    parameters
        Of dual pursuit on each subcarrier.
    context
        Its warm start, if any, is (F, N).
    beyond
        Give up once the common devices are worth no more than this: they can only become fewer.
    order
        (F,) in what order the subcarriers are scheduled: the hardest first, it gives up soonest.

    Returns
    -------
    The selection, with receivers (F, N); None if it was given up.

    Raises
    ------
    DeadlineExceededError
        The stop flag was set before every subcarrier had a schedule.
    """
    receivers = np.zeros((problem.subcarriers, problem.antennas), np.complex128)
    common = np.ones(problem.devices, np.bool_)
    values, rounds = problem.values, 0
    for f in range(problem.subcarriers) if order is None else order.tolist():
        if context.stop[0]:
            raise DeadlineExceededError
        start = None if context.warm_start is None else context.warm_start[f]
        context_alone = replace(context, warm_start=start)
        alone = dual_pursuit.select(problem.subcarrier(f), parameters, context_alone)
        receivers[f] = alone.receiver
        common &= alone.active
        rounds += alone.iterations
        if values[common].sum() <= beyond:
            return None
    return Selection(receivers, common, rounds, context.stopped)
