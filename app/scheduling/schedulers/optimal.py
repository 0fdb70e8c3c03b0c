r"""Optimal: the most devices that one receiver serves, with proof, by branch and bound.

Dual pursuit finds a schedule. Then a search over who is served, and with which phases, either finds
a larger one or proves that there is none: :mod:`app.scheduling.bounding` says how, and what its
bound covers. Stopped early, it answers its best schedule and the bound reached, below which the
optimum is not excluded. Finally the receiver is polished for the least error.

How many devices are served does not depend on the seed once it is proven; which ones may.

Cost: exponential in the worst case. Milliseconds for K = 20 and N = 6, up to seconds for K = 30.
For more than :data:`app.scheduling.bounding.MOST_DEVICES` devices it is dual pursuit with a loose
bound.
"""

from dataclasses import dataclass

import numpy as np

from app.scheduling.bounding import prove, pursue
from app.scheduling.polishing import polish
from app.scheduling.problem import Problem
from app.scheduling.scheduler import (
    Context,
    DeadlineExceededError,
    Parameters,
    Scheduler,
    Selection,
)

_TOLERANCE = 1e-3


@dataclass(frozen=True)
class OptimalParameters(Parameters):
    """The optimum has no parameters."""


def select(problem: Problem, parameters: OptimalParameters, context: Context) -> Selection:
    """Pursue, prove, polish."""
    receiver, known = pursue(problem, context)
    if known == 0 and context.stop[0]:
        raise DeadlineExceededError
    proof = prove(problem, known, context.stop)
    if proof.receiver is not None:
        receiver = proof.receiver
    active = problem.served(receiver) if known else np.zeros(problem.devices, np.bool_)
    receiver, active = polish(problem, receiver, active, context.stop, tolerance=_TOLERANCE)
    attained = np.count_nonzero(active) == proof.upper_bound
    stopped = "converged" if attained else proof.stopped
    return Selection(receiver, active, proof.nodes, stopped, upper_bound=proof.upper_bound)


SCHEDULERS = (
    Scheduler(
        name="optimal",
        summary="Finds the most devices that can be served, and proves it; stopped early, it "
        "answers the bound reached.",
        reference="Branch and bound over membership and phases, with the argument cuts of Lu and "
        "Liu, An efficient global algorithm for single-group multicast beamforming, 2017",
        parameters=OptimalParameters,
        select=select,
        symmetric=False,
        pace="anytime",
    ),
)
