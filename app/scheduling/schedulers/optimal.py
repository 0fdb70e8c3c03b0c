r"""Optimal: the most devices that one receiver serves, with proof, by branch and bound.

With priorities, the devices of the most value.

Dual pursuit finds a schedule. Then a search over who is served, and with which phases, either finds
a larger one or proves that there is none: :mod:`app.scheduling.bounding` says how, and what its
bound covers. Stopped early, it answers its best schedule and the bound reached: the optimum lies
between the two. Finally the receiver is polished for the least error.

How many devices are served does not depend on the seed once it is proven; which ones may.

Cost: exponential in the worst case. Milliseconds for K = 20 and N = 6, up to seconds for K = 30.
For more than :data:`app.scheduling.bounding.MOST_DEVICES` devices it is dual pursuit with a loose
bound.
"""

from dataclasses import dataclass, replace

import numpy as np

from app.scheduling.bounding import EQUAL, prove
from app.scheduling.polishing import QUICK_TOLERANCE, polish
from app.scheduling.problem import Problem
from app.scheduling.pursuit import pursue
from app.scheduling.scheduler import Context, Parameters, Scheduler, Selection


@dataclass(frozen=True)
class OptimalParameters(Parameters):
    """The optimum has no parameters."""


def select(problem: Problem, parameters: OptimalParameters, context: Context) -> Selection:
    """Pursue, prove, polish."""
    receiver, found, _ = pursue(problem, context)
    active = problem.served(receiver) if found else np.zeros(problem.devices, np.bool_)
    if found == 0 and context.stop[0]:
        receiver, active = problem.easiest()
    proof = prove(problem, problem.worth(active), context.stop)
    if proof.receiver is not None:
        receiver, active = proof.receiver, problem.served(proof.receiver)
    receiver, active = polish(problem, receiver, active, context.stop, tolerance=QUICK_TOLERANCE)
    attained = problem.worth(active) >= proof.upper_bound * (1 - EQUAL)
    stopped = "converged" if attained else proof.stopped
    upper_bound = problem.as_answered(proof.upper_bound)
    return Selection(receiver, active, proof.nodes, stopped, upper_bound=upper_bound)


_OPTIMAL = Scheduler(
    name="optimal",
    summary="Finds the most devices that can be served, and proves it; if stopped early, "
    "returns the bound reached so far.",
    reference="Branch and bound over membership and phases, with the argument cuts of Lu and "
    "Liu, An efficient global algorithm for single-group multicast beamforming, 2017",
    parameters=OptimalParameters,
    select=select,
    symmetric=False,
    pace="anytime",
    proves=True,
    takes_priorities=True,
)

SCHEDULERS = (
    _OPTIMAL,
    # Until the next release: it used to be a search of its own.
    replace(
        _OPTIMAL,
        name="exhaustive",
        summary="Deprecated alias of `optimal`; this name will be removed in the next release.",
    ),
)
