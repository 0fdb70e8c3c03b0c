r"""Dual pursuit: drop the devices whose multipliers are largest, from several starts.

Scale every channel by what its device needs, :math:`a_k = h_k/\sqrt{q_k}`: a unit receiver serves
device k when :math:`|a_k^H c| \ge 1`. A set S can be served if and only if

.. math:: \min \|c\|^2 \text{ s.t. } |a_k^H c| \ge 1,\ k \in S

is at most one. With the phases of :math:`a_k^H c` held fixed this is convex, and coordinate ascent
on its dual costs O(N) per visit (see :mod:`app.scheduling.kernels.dual.sweeps`).

descend
    Start from all devices that can be served alone. Run a round of sweeps; stop if the receiver
    serves the set, otherwise drop the devices with the largest :math:`\lambda_k\|a_k\|`: one in
    eight of those not served, at least one. Multipliers and phases carry over. Sets about as large
    as the best so far get more rounds before any device is dropped, unless the bound on their level
    says that their current phases cannot serve them.
kick
    Return to the best set of this start, add one to five devices that it misses, preferably those
    for which the receiver has to move least but with some randomness, and descend again. More
    devices, or as many with another receiver, are the new best. After a few failures in a row, go
    to the next start.
starts
    The last round's receiver if given, which counts as it is: the result never serves less. Then
    the sum of all channels with their phases aligned, and random ones. For more than 20 devices
    some of these first climb a soft count of served devices, and from 60 on all do; only the best
    quarter of the climbs are finished (:mod:`app.scheduling.kernels.dual.soft`). A start whose
    first set is far behind those of others is given up. The search ends early once all devices that
    can be served alone are served.
polish
    Finally, find the receiver with the least computation error for the set, and add all it serves.

The result depends on the seed. It is locally optimal, not provably the best.

Cost: a round is O(KN). A descent takes O(log K) rounds while it drops in batches.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Interval

from app.scheduling.polishing import QUICK_TOLERANCE, polish, quick_visits
from app.scheduling.problem import Problem
from app.scheduling.pursuit import STARTS, pursue
from app.scheduling.scheduler import Context, Parameters, Scheduler, Selection

_DESCENT_VISITS = 200
_CONSTANT_FROM = 60


@dataclass(frozen=True)
class DualPursuitParameters(Parameters):
    """Parameters of dual pursuit.

    Parameters
    ----------
    starts
        The effort: more starts find more devices, in proportionally more time. Up to 50 devices
        that can be served alone, 2.5 plain starts each; for many devices, 20,000 visits to a
        device in climbs each, whatever their number.
    """

    starts: Annotated[int, Interval(ge=1, le=10_000)] = STARTS


def select(problem: Problem, parameters: DualPursuitParameters, context: Context) -> Selection:
    """Search, then polish."""
    receiver, served, rounds = pursue(problem, context, parameters.starts)
    if served == 0:
        if context.stop[0]:
            return Selection(*problem.easiest(), rounds, "deadline")
        return Selection(receiver, np.zeros(problem.devices, np.bool_), rounds)
    receiver, active = polish(
        problem,
        receiver,
        problem.served(receiver),
        context.stop,
        tolerance=QUICK_TOLERANCE,
        most_visits=quick_visits(served),
    )
    return Selection(receiver, active, rounds, context.stopped)


def estimate(parameters: DualPursuitParameters, antennas: int, devices: int) -> float:
    """Bound the seconds of each start, with its kicks, and of one polish.

    For 50 devices that can be served alone, or fewer, two and a half times as many starts are made:
    a few of many devices can take longer than all of them. From 60 devices on, the effort of a
    start does not grow with their number, but that of the first descent does.
    """
    few = 100e-6 + 8e-6 * antennas
    growing = min(devices, _CONSTANT_FROM)
    many = 1.73e-6 * growing * (1 + growing / 60) * antennas
    visits = quick_visits(devices) + _DESCENT_VISITS * (devices - growing)
    return parameters.starts * (60e-6 + max(few, many)) + visits * (10e-9 + 2e-9 * antennas)


SCHEDULERS = (
    Scheduler(
        name="dual_pursuit",
        summary="Drops the devices with the largest multipliers of a least-norm receiver, from "
        "several starts, and polishes the result.",
        reference="Coordinate ascent on the dual of single-group multicast beamforming, with "
        "admission control",
        parameters=DualPursuitParameters,
        select=select,
        symmetric=False,
        pace="anytime",
        takes_priorities=True,
        estimate=estimate,
    ),
)
