r"""Matching pursuit with joint tuning: Algorithm 2 of Bereyhi et al.

A. Bereyhi, A. Vagollari, S. Asaad, R. R. Müller, W. Gerstacker, H. V. Poor, *Matching Pursuit Based
Scheduling for Over-the-Air Federated Learning*, 2022.

As the backward search of :mod:`app.scheduling.schedulers.matching_pursuit`, but for each set the
receiver and the phases are found together. With the weights :math:`w_k` of subset cutting they
alternate:

- c is the principal left singular vector of :math:`H(\mu)\sqrt W`,
- μ is raised by a policy in :math:`f(\mu) = \sum_k w_k|h_k(\mu)^H c|^2`
  (see :mod:`app.scheduling.kernels.surface.phases`), from its current value,

until an alternation raises f by less than a thousandth. Neither step lowers f, and f is
bounded. Then :math:`\arg\max_k F_k` of the remaining devices is dropped, as long as any device is
violated. If the surface has no effect, this is Algorithm 1, bit for bit.

Cost: an alternation is O(MKN) for the channels, O(KN² + N³) for the receiver, and O(MK) times the
policy's steps; no matrix of M × M is ever formed. There are K - |S| + 1 iterations of about three
alternations each.
"""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Interval

from app.scheduling.irs.phases import POLICIES, PhaseUpdate
from app.scheduling.irs.problem import IrsProblem
from app.scheduling.kernels.surface.algorithm_2 import joint_pursuit
from app.scheduling.scheduler import Context, Parameters, Scheduler, Selection


@dataclass(frozen=True)
class IrsMatchingPursuitParameters(Parameters):
    """Parameters of matching pursuit with joint tuning.

    Parameters
    ----------
    delta
        Subset-cutting parameter δ: the weight of violated devices against 1-δ of served ones.
    phase_update
        The channel update policy: all elements at once by minorise-maximise, or one by one.
    """

    delta: Annotated[float, Interval(gt=0, lt=1)] = 0.55
    phase_update: PhaseUpdate = "mm"


def select(
    problem: IrsProblem, parameters: IrsMatchingPursuitParameters, context: Context
) -> Selection:
    """Run Algorithm 2."""
    phases = problem.start()
    receiver, active, iterations, _ = joint_pursuit(
        problem.surface,
        problem.required_gains,
        problem.values,
        parameters.delta,
        POLICIES[parameters.phase_update],
        phases,
        context.stop,
    )
    if context.stop[0] and not active.any():
        phases = problem.start()
        receiver, active = problem.tuned(phases).easiest()
    return Selection(receiver, active, iterations, context.stopped, phases)


SCHEDULERS = (
    Scheduler(
        name="matching_pursuit",
        summary="Drops one device at a time, and tunes the receiver and the phases together for "
        "those that remain.",
        reference="Bereyhi et al., Matching Pursuit Based Scheduling for Over-the-Air Federated "
        "Learning, 2022, Algorithm 2",
        parameters=IrsMatchingPursuitParameters,
        select=select,
        pace="anytime",
        takes_priorities=True,
    ),
)
