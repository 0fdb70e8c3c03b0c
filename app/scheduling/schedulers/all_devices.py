r"""All devices: everyone transmits, whatever the error.

The receiver is the principal left singular vector of the channels divided by their weights,
:math:`[h_1/\phi_1 \dots h_K/\phi_K]`, as in the first step of Algorithm 1 for equal weights. Only
a device whose response through it may be nothing but rounding is left out: no transmit scalar
inverts that.

Cost: O(KN² + N³).
"""

from dataclasses import dataclass

import numpy as np

from app.scheduling.kernels.linalg.eigen import eigenvector_seconds
from app.scheduling.kernels.matching.algorithm_1 import principal_receiver
from app.scheduling.problem import LARGEST, Problem
from app.scheduling.scheduler import Context, Parameters, Scheduler, Selection

NEGLIGIBLE = LARGEST**-2
"""A weaker response counts as none: its error could not be represented."""


@dataclass(frozen=True)
class AllDevicesParameters(Parameters):
    """All devices has no parameters."""


def select(problem: Problem, parameters: AllDevicesParameters, context: Context) -> Selection:
    """Schedule every device."""
    receiver = principal_receiver(problem.channels / problem.weights)
    magnitudes = np.abs(receiver.conj() @ problem.channels)
    resolved = (magnitudes > NEGLIGIBLE) & (magnitudes**2 >= problem.resolved_gains)
    return Selection(receiver, resolved, iterations=1)


def estimate(parameters: AllDevicesParameters, antennas: int, devices: int) -> float:
    """Bound the seconds: one eigenvector."""
    return eigenvector_seconds(antennas) + 10e-9 * devices * antennas**2


SCHEDULERS = (
    Scheduler(
        name="all_devices",
        summary="Schedules every device, whatever the computation error.",
        reference="Lower bound of any selection; the aggregate of every device",
        parameters=AllDevicesParameters,
        select=select,
        keeps_tolerance=False,
        estimate=estimate,
    ),
)
