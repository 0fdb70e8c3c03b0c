"""Polishing over a band: on every subcarrier the receiver of the least error for a given set.

The receivers of a set are independent of each other, so each subcarrier's error is least where the
level of its own receiver is highest (:mod:`app.scheduling.polishing`); the mean and the largest
error are then least as well.

Cost: O(N) per visit to a device, a few hundred to a few thousand visits per subcarrier.
"""

import numpy as np

from app.scheduling.kernels.dual.level import raise_level
from app.scheduling.polishing import MAX_VISITS, TOLERANCE
from app.scheduling.stopping import NEVER
from app.scheduling.types import ComplexArray, MaskArray
from app.scheduling.wideband.problem import WidebandProblem


def polish(
    problem: WidebandProblem,
    receivers: ComplexArray,
    active: MaskArray,
    stop: MaskArray = NEVER,
    tolerance: float = TOLERANCE,
    most_visits: int = MAX_VISITS,
) -> tuple[ComplexArray, MaskArray]:
    """Improve the receivers of a schedule, and add every device that they newly serve.

    Parameters
    ----------
    receivers
        (F, N), which serve the active devices.
    active
        (K,) mask of the scheduled devices.
    stop
        (1,) mask; polishing ends early when it becomes true.
    tolerance
        Stop this close to a local maximum of the level, relatively.
    most_visits
        Bound on the effort on each subcarrier, in visits to a device of O(N) each.

    Returns
    -------
    receivers (F, N) of unit norm, active (K,)
        No device leaves. The error over the same devices does not grow on any subcarrier.
    """
    if not active.any():
        return receivers, active
    receivers = np.array(receivers)
    # With the mean, a subcarrier may exceed the tolerance: what is needed there has no floor.
    floors = np.sqrt(problem.required_gains) if problem.each else np.zeros(problem.devices)
    while True:
        active = problem.with_joined(receivers, active)
        weights, kept = problem.weights[active], floors[active]
        for f, channels in enumerate(np.ascontiguousarray(problem.channels[:, :, active])):
            receivers[f], _ = raise_level(
                channels, weights, kept, receivers[f], tolerance, most_visits, stop
            )
        joined = problem.with_joined(receivers, active)
        if (joined == active).all() or stop[0]:
            return receivers, joined
        active = joined
