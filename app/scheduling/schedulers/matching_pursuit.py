r"""Matching pursuit: Algorithm 1 of Bereyhi et al., with its two extensions.

A. Bereyhi, A. Vagollari, S. Asaad, R. R. Müller, W. Gerstacker, H. V. Poor, *Matching Pursuit Based
Scheduling for Over-the-Air Federated Learning*, 2022.

All searches look for the receiver of a set as the principal left singular vector of
:math:`H\sqrt{W}`, with weights :math:`w_k` by subset cutting: :math:`\delta` for the remaining
devices with :math:`F_k = \phi_k^2 - \gamma|h_k^H c|^2 > 0`, :math:`1-\delta` for the others.

backward
    Algorithm 1. Start with everyone at unit weight; while somebody is violated, drop
    :math:`\arg\max_k F_k`.
bidirectional
    As backward, but a dropped device that the current receiver serves comes back, and everyone
    whom the last receiver serves is scheduled. Without a limit this can go round in circles. Each
    device may come back once, so it ends: an iteration that is not the last drops one device, and
    no device can be dropped more than twice, hence at most 2K + 1 iterations.
forward
    The paper's remark for small γ, the same steps from the other side: start with the best device
    alone; take in all whom the receiver serves and the least violated other; stop when the
    receiver of the larger set misses one of it, and keep the last receiver that did not.

Which receiver, if the largest singular value is repeated? The one closest to the last
iteration's; at first, to the sum of the channels with their phases aligned.

Cost: with T iterations, O(T(KN + N³) + uN²) for u changes of a weight. T ≤ K backward and
forward; for small γ it is about K - |S| backward and |S| forward.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Interval

from app.scheduling.kernels.pursuit import backward_pursuit, forward_pursuit
from app.scheduling.problem import Problem
from app.scheduling.scheduler import (
    Context,
    DeadlineExceededError,
    Parameters,
    Scheduler,
    Selection,
)


@dataclass(frozen=True)
class MatchingPursuitParameters(Parameters):
    """Parameters of matching pursuit.

    Parameters
    ----------
    delta
        Subset-cutting parameter δ: the weight of violated devices against 1-δ of served ones.
    search
        Whether devices are dropped, added, or dropped and taken back.
    """

    delta: Annotated[float, Interval(gt=0, lt=1)] = 0.55
    search: Literal["backward", "forward", "bidirectional"] = "backward"


def select(problem: Problem, parameters: MatchingPursuitParameters, context: Context) -> Selection:
    """Run the chosen search."""
    required, delta = problem.required_gains, parameters.delta
    if parameters.search == "forward":
        receiver, active, iterations = forward_pursuit(
            problem.channels, required, delta, context.stop
        )
        return Selection(
            receiver, active, iterations, "deadline" if context.stop[0] else "converged"
        )
    receiver, active, iterations = backward_pursuit(
        problem.channels, required, delta, parameters.search == "bidirectional", context.stop
    )
    if context.stop[0] and not active.any():
        # A backward search has nothing to show before it ends.
        raise DeadlineExceededError
    return Selection(receiver, active, iterations)


SCHEDULERS = (
    Scheduler(
        name="matching_pursuit",
        summary="Drops (or adds) one device at a time, guided by the principal singular vector.",
        reference="Bereyhi et al., Matching Pursuit Based Scheduling for Over-the-Air Federated "
        "Learning, 2022, Algorithm 1",
        parameters=MatchingPursuitParameters,
        select=select,
    ),
)
