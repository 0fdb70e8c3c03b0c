"""Intersection: schedule every subcarrier alone by dual pursuit, and keep whom all of them serve.

What one would do by hand with a batch. Each subcarrier keeps the tolerance, whatever the criterion.
The more the subcarriers differ, the fewer devices their sets have in common.

Cost: F times that of :mod:`app.scheduling.schedulers.dual_pursuit`.
"""

import numpy as np

from app.scheduling.scheduler import Context, Scheduler, Selection
from app.scheduling.schedulers.dual_pursuit import DualPursuitParameters
from app.scheduling.wideband.intersecting import intersect
from app.scheduling.wideband.problem import WidebandProblem


def select(
    problem: WidebandProblem, parameters: DualPursuitParameters, context: Context
) -> Selection:
    """Intersect the sets of all subcarriers."""
    found = intersect(problem, parameters, context)
    if found is None:
        receivers = np.zeros((problem.subcarriers, problem.antennas), np.complex128)
        return Selection(receivers, np.zeros(problem.devices, np.bool_), iterations=0)
    return found


SCHEDULERS = (
    Scheduler(
        name="intersection",
        summary="Schedules every subcarrier alone by dual pursuit, and keeps the devices that all "
        "of them serve.",
        reference="Dual pursuit on each subcarrier",
        parameters=DualPursuitParameters,
        select=select,
        symmetric=False,
        takes_priorities=True,
    ),
)
