r"""A proven upper bound on how many devices any receiver serves, and a search for one that does.

The relaxation of :mod:`app.scheduling.kernels.proof.bound` with nothing decided gives a first
bound. While it exceeds the best known number, :mod:`app.scheduling.kernels.proof.tree` asks
whether as many devices as it says can be served: a no lowers it by one, a yes is a better schedule
and proof that it is the best. Any of this can be stopped, and the bound reached still holds.

What the bound covers
    The service calls a device served where the *computed* gain of a *computed* unit receiver
    reaches :math:`q_k(1 - t)`, t = :data:`SERVED_TOLERANCE`. The norm then exceeds one by at most
    the share t/2, and the response errs by at most :math:`2(N + 3)u\|h_k\|`, u = 2⁻⁵³. So exactly
    unit receivers are asked for

    .. math:: |h_k^H c| \ge r_k = \sqrt{q_k}(1 - 1.2t) - 3(N + 4)u\|h_k\| ,

    which everything the service calls served satisfies, with room for the rounding of
    :math:`a_k = h_k/r_k`. Devices whose channel is so strong that this makes little sense, or that
    would spoil the numbers, :math:`\|a_k\| >` :data:`STRONG`, count as served.

Cost: O(N³ + KN² + K²N + K³) per Newton step, about twenty for the first bound. The search takes
exponential time in the worst case.
"""

from typing import NamedTuple

import numpy as np

from app.scheduling.kernels.formulas import SERVED_TOLERANCE
from app.scheduling.kernels.proof.bound import HALF
from app.scheduling.kernels.proof.reach import UNIT_ROUNDOFF, pairwise_reach
from app.scheduling.kernels.proof.relaxation import relax
from app.scheduling.kernels.proof.tree import FOUND, LIMIT, NONE, PRECISION, search_tree
from app.scheduling.problem import Problem
from app.scheduling.pursuit import pursue as pursue_value
from app.scheduling.schedule import Stopped
from app.scheduling.scheduler import Context
from app.scheduling.stopping import flag_after
from app.scheduling.types import ComplexArray, MaskArray, RealArray

STRONG = 1e6
"""Devices whose channel exceeds what they need by more than this factor count as served."""

MOST_DEVICES = 256
"""Beyond this many devices, those that can be served alone are the bound: steps take too long."""

_NEVER = np.zeros(1, np.bool_)


class Proof(NamedTuple):
    """What is known about the most devices that can be served.

    Parameters
    ----------
    upper_bound
        No receiver serves more devices.
    receiver
        (N,) of unit norm: serves more devices than were known; None if none was found.
    nodes
        How many nodes the search visited.
    stopped
        Whether the bound is attained, and if not, why the search ended.
    """

    upper_bound: int
    receiver: ComplexArray | None
    nodes: int
    stopped: Stopped


def pursue(problem: Problem, context: Context) -> tuple[ComplexArray, int]:
    """Return a unit receiver found by dual pursuit, and how many devices it serves; 0 if none."""
    # A bound counts devices.
    receiver, found, _ = pursue_value(problem, context, values=np.ones(problem.devices))
    return receiver, int(np.count_nonzero(problem.served(receiver))) if found else 0


def bounded(problem: Problem, served: int, context: Context, seconds: float) -> int:
    """Return a proven bound on how many devices any receiver serves.

    Parameters
    ----------
    served
        How many devices some receiver serves.
    context
        Its stop flag ends the proof, its seed is that of a search for a better schedule.
    seconds
        How long the proof may take.
    """
    if context.stop[0]:
        return prove(problem, served, context.stop).upper_bound
    with flag_after(seconds) as spent:
        if problem.devices <= MOST_DEVICES:
            # Once the bound is attained, by whichever schedule, it cannot be lowered.
            served = max(served, pursue(problem, context)[1])
        return prove(problem, served, context.stop, spent).upper_bound


def prove(problem: Problem, known: int, stop: MaskArray, spent: MaskArray = _NEVER) -> Proof:
    """Bound how many devices can be served, and look for more than are ``known`` to be.

    Parameters
    ----------
    known
        How many devices some receiver serves.
    stop, spent
        (1,) masks; when either becomes true, the bound reached is returned.
    """
    rows, searched = _rows(problem)
    upper = max(rows.shape[0], known)
    if upper == known:
        return Proof(upper, None, 0, "converged")
    if searched > MOST_DEVICES:
        return Proof(upper, None, 0, "limit")
    if stop[0] or spent[0]:
        return Proof(upper, None, 0, "deadline")
    strong = rows.shape[0] - searched
    sizes = np.sum(np.abs(rows[:searched]) ** 2, axis=1)
    upper = max(known, strong + _root(rows[:searched], sizes, known + 1 - strong, stop, spent))
    reach = pairwise_reach(rows[:searched], sizes)
    best, nodes = np.zeros(problem.antennas, np.complex128), 0
    stopped: Stopped = "converged"
    given = known
    while upper > known and stopped == "converged":
        outcome, known, visited = search_tree(
            rows, searched, sizes, reach, upper, known, best, stop, spent
        )
        nodes += visited
        if outcome == NONE:
            upper -= 1
        elif outcome != FOUND:
            stopped = "limit" if outcome == LIMIT else "deadline"
    return Proof(upper, best if known > given else None, nodes, stopped)


def _rows(problem: Problem) -> tuple[ComplexArray, int]:
    """Return (K', N) a_k of the devices that can be served, and how many are not too strong.

    The strong ones come last.
    """
    lengths = np.linalg.norm(problem.channels, axis=0)
    rounding = (problem.antennas + 4) * UNIT_ROUNDOFF
    needed = np.sqrt(problem.required_gains) * (1 - 1.2 * SERVED_TOLERANCE)
    needed -= 3 * rounding * lengths
    strong = lengths > STRONG * needed
    weak = ~strong & (lengths * (1 + rounding) >= needed)
    order = np.concatenate([np.flatnonzero(weak), np.flatnonzero(strong)])
    # What a strong device needs may be lost in rounding.
    scale = np.maximum(needed[order], lengths[order] / STRONG**2)
    return np.ascontiguousarray((problem.channels[:, order] / scale).T), int(weak.sum())


def _root(
    rows: ComplexArray, sizes: RealArray, target: int, stop: MaskArray, spent: MaskArray
) -> int:
    """Return the bound with nothing decided, at least ``target`` - 1."""
    node = np.zeros((5, rows.shape[0]))
    node[HALF] = np.pi
    receiver = np.zeros(rows.shape[1], np.complex128)
    scalars = np.zeros(4)
    _, bound = relax(
        rows, sizes, np.sqrt(sizes), node, scalars, target, PRECISION, receiver, stop, spent
    )
    return int(min(rows.shape[0], np.floor(bound)))
