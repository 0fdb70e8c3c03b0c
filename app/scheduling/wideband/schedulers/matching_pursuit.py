r"""Matching pursuit over a band: Algorithm 1 of Bereyhi et al. with one weight per device.

A. Bereyhi, A. Vagollari, S. Asaad, R. R. Müller, W. Gerstacker, H. V. Poor, *Matching Pursuit Based
Scheduling for Over-the-Air Federated Learning*, 2022.

The backward search of :mod:`app.scheduling.schedulers.matching_pursuit`, with a receiver on every
subcarrier and one weight per device: :math:`\delta` for a device that some subcarrier violates,
:math:`1-\delta` for the others. With :math:`F_{k,f} = \phi_k^2 - \gamma|h_{k,f}^H c_f|^2` it drops
the device with the largest :math:`\max_f F_{k,f}` (criterion *each*) or
:math:`\frac1F\sum_f\max(0, F_{k,f})` (criterion *mean*), until the rest keeps the tolerance. With
one subcarrier this is Algorithm 1.

Cost: at most K iterations of O(F(KN + N³)), and O(FN²) for every change of a weight.
"""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Interval

from app.scheduling.kernels.wideband.matching import wideband_matching
from app.scheduling.scheduler import Context, Parameters, Scheduler, Selection
from app.scheduling.wideband.problem import WidebandProblem


@dataclass(frozen=True)
class WidebandMatchingPursuitParameters(Parameters):
    """Parameters of matching pursuit over a band.

    Parameters
    ----------
    delta
        Subset-cutting parameter δ: the weight of violated devices against 1-δ of served ones.
    """

    delta: Annotated[float, Interval(gt=0, lt=1)] = 0.55


def select(
    problem: WidebandProblem, parameters: WidebandMatchingPursuitParameters, context: Context
) -> Selection:
    """Run the backward search."""
    receivers, active, iterations = wideband_matching(
        problem.channels,
        problem.required_gains,
        problem.values,
        parameters.delta,
        problem.each,
        context.stop,
    )
    if context.stop[0] and not active.any():
        # A backward search has no schedule before it ends.
        return Selection(*problem.easiest(), iterations, "deadline")
    return Selection(receivers, active, iterations)


SCHEDULERS = (
    Scheduler(
        name="matching_pursuit",
        summary="Drops one device at a time, guided by the principal singular vectors of all "
        "subcarriers with common weights.",
        reference="Bereyhi et al., Matching Pursuit Based Scheduling for Over-the-Air Federated "
        "Learning, 2022, Algorithm 1",
        parameters=WidebandMatchingPursuitParameters,
        select=select,
        pace="anytime",
        takes_priorities=True,
    ),
)
