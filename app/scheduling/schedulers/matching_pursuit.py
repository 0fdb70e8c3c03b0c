r"""Matching pursuit: Algorithm 1 of Bereyhi et al., with its two extensions.

A. Bereyhi, A. Vagollari, S. Asaad, R. R. Müller, W. Gerstacker, H. V. Poor, *Matching Pursuit Based
Scheduling for Over-the-Air Federated Learning*, 2022.

All searches look for the receiver of a set as the principal left singular vector of
:math:`H\sqrt{W}`, with weights :math:`w_k` by subset cutting: :math:`\delta` for the remaining
devices with :math:`F_k = \phi_k^2 - \gamma|h_k^H c|^2 > 0`, :math:`1-\delta` for the others.
Priorities multiply these weights.

backward
    Algorithm 1. Start with everyone at unit weight; while somebody is violated, drop
    :math:`\arg\max_k F_k`.
bidirectional
    As backward, but a dropped device that the current receiver serves comes back, and every device
    that the last receiver serves is scheduled. Without a limit this can cycle, so each device may
    come back only once: every iteration but the last drops one device, no device is dropped more
    than twice, and there are at most 2K + 1 iterations.
forward
    The paper's remark for small γ, the same steps in reverse: start with the best device alone;
    add all devices that the receiver serves and the least violated other one; stop when the
    receiver of the larger set misses one of its devices, and keep the last one that did not.

If the largest singular value is repeated, the receiver is the one closest to the last
iteration's or, in the first iteration, to the sum of the channels with their phases aligned.

Cost: with T iterations, O(T(KN + N³) + uN²) for u changes of a weight. T ≤ K backward and
forward; for small γ it is about K - |S| backward and |S| forward.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Interval

from app.scheduling.kernels.linalg.eigen import eigenvector_seconds
from app.scheduling.kernels.matching.algorithm_1 import backward_pursuit, forward_pursuit
from app.scheduling.problem import Problem
from app.scheduling.scheduler import Context, Parameters, Scheduler, Selection


@dataclass(frozen=True)
class MatchingPursuitParameters(Parameters):
    """Parameters of matching pursuit.

    Parameters
    ----------
    delta
        Subset-cutting parameter δ: the weight of violated devices against 1-δ of served ones.
    search
        Whether devices are dropped, added, or dropped and readmitted.
    """

    delta: Annotated[float, Interval(gt=0, lt=1)] = 0.55
    search: Literal["backward", "forward", "bidirectional"] = "backward"


def select(problem: Problem, parameters: MatchingPursuitParameters, context: Context) -> Selection:
    """Run the chosen search."""
    required, delta, stop = problem.required_gains, parameters.delta, context.stop
    if parameters.search == "forward":
        found = forward_pursuit(problem.channels, required, problem.values, delta, stop)
    else:
        returns = parameters.search == "bidirectional"
        found = backward_pursuit(problem.channels, required, problem.values, delta, returns, stop)
    receiver, active, iterations = found
    if stop[0] and not active.any():
        receiver, active = problem.easiest()
    return Selection(receiver, active, iterations, context.stopped)


def estimate(parameters: MatchingPursuitParameters, antennas: int, devices: int) -> float:
    """Bound the seconds: one eigenvector for each device dropped or added; some go twice."""
    steps = 2 * devices + 1 if parameters.search == "bidirectional" else devices
    return steps * (eigenvector_seconds(antennas) + 8e-9 * devices * antennas)


SCHEDULERS = (
    Scheduler(
        name="matching_pursuit",
        summary="Drops (or adds) one device at a time, guided by the principal singular vector.",
        reference="Bereyhi et al., Matching Pursuit Based Scheduling for Over-the-Air Federated "
        "Learning, 2022, Algorithm 1",
        parameters=MatchingPursuitParameters,
        select=select,
        pace="anytime",
        takes_priorities=True,
        estimate=estimate,
    ),
)
