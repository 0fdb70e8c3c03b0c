r"""A proven upper bound on what any receiver serves, and a search for one that attains it.

What counts is the number of devices, or with priorities the value :math:`\sum_{k\in S} v_k`.

The relaxation of :mod:`app.scheduling.kernels.proof.bound` with nothing decided gives a first
bound. While it exceeds the best known value, :mod:`app.scheduling.kernels.proof.tree` asks whether
as much as a target can be served. If not, the bound falls to it; if so, there is a better schedule.
Counting devices, the target is the bound itself; with priorities it lies the mean value of a device
below the bound, or just above the best known. Any of this can be stopped, and the bound reached
still holds.

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
from app.scheduling.pursuit import pursue
from app.scheduling.schedule import Stopped
from app.scheduling.scheduler import Context
from app.scheduling.stopping import NEVER, flag_after
from app.scheduling.types import ComplexArray, MaskArray, RealArray

STRONG = 1e6
"""Devices whose channel exceeds what they need by more than this factor count as served."""

MOST_DEVICES = 256
"""Beyond this many devices, those that can be served alone are the bound: steps take too long."""

EQUAL = 1e-9
"""Values this close, relatively, count as equal: a bound that is nearer is attained."""


class Proof(NamedTuple):
    """What is known about the most that can be served.

    Parameters
    ----------
    upper_bound
        No receiver serves more value, in units of ``Problem.values``.
    receiver
        (N,) of unit norm: serves more than was known; None if none was found.
    nodes
        How many nodes the search visited.
    stopped
        Whether the bound is attained, and if not, why the search ended.
    """

    upper_bound: float
    receiver: ComplexArray | None
    nodes: int
    stopped: Stopped


def bounded(problem: Problem, known: float, context: Context, seconds: float) -> float:
    """Return a proven bound on the value that any receiver serves.

    Parameters
    ----------
    known
        The value that some receiver serves, in units of ``Problem.values``.
    context
        Its stop flag ends the proof, its seed is that of a search for a better schedule.
    seconds
        How long the proof may take.
    """
    if context.stop[0]:
        return prove(problem, known, context.stop).upper_bound
    with flag_after(seconds) as spent:
        if problem.devices <= MOST_DEVICES:
            # Once the bound is attained, by whichever schedule, it cannot be lowered.
            receiver, found, _ = pursue(problem, context)
            if found:
                known = max(known, problem.worth(problem.served(receiver)))
        return prove(problem, known, context.stop, spent).upper_bound


def prove(problem: Problem, known: float, stop: MaskArray, spent: MaskArray = NEVER) -> Proof:
    """Bound the value that can be served, and look for more than is ``known`` to be.

    Parameters
    ----------
    known
        The value that some receiver serves.
    stop, spent
        (1,) masks; when either becomes true, the bound reached is returned.
    """
    rows, values, searched = _rows(problem)
    counts = bool((values == 1.0).all())
    upper = max(float(values.sum()), known)
    if upper <= _attained(known):
        return Proof(known, None, 0, "converged")
    if searched > MOST_DEVICES:
        return Proof(upper, None, 0, "limit")
    if stop[0] or spent[0]:
        return Proof(upper, None, 0, "deadline")
    sizes = np.sum(np.abs(rows[:searched]) ** 2, axis=1)
    root = _root(rows, values, searched, sizes, _more_than(known, values), stop, spent)
    upper = max(known, min(upper, np.floor(root) if counts else root))
    reach = pairwise_reach(rows[:searched], sizes)
    step = 0.0 if counts else float(values.mean())
    best, nodes = np.zeros(problem.antennas, np.complex128), 0
    stopped: Stopped = "converged"
    given = known
    while upper > _attained(known) and stopped == "converged":
        least = _more_than(known, values)
        target = max(upper - step, least)
        outcome, known, undecided_bound, visited = search_tree(
            rows, searched, sizes, reach, values, target, known, best, stop, spent
        )
        nodes += visited
        if outcome == NONE and target == least:
            upper = known
        elif outcome == NONE:
            upper = target - 1.0 if counts else target
        elif outcome == LIMIT:
            # A lower target excludes less, so it would leave these nodes undecided as well.
            undecided_bound = np.floor(undecided_bound) if counts else undecided_bound
            upper, stopped = max(known, min(upper, undecided_bound)), "limit"
        elif outcome != FOUND:
            stopped = "deadline"
    if upper <= _attained(known):
        upper, stopped = known, "converged"
    return Proof(float(upper), best if known > given else None, nodes, stopped)


def relaxation_bound(problem: Problem, known: float) -> float:
    """Return the bound of the relaxation alone, for any number of devices, to one percent.

    Parameters
    ----------
    known
        The value that some receiver serves.
    """
    rows, values, searched = _rows(problem)
    sizes = np.sum(np.abs(rows[:searched]) ** 2, axis=1)
    bound, target = float(values.sum()), _more_than(known, values)
    while True:
        # It is lowered only as far as the target needs: a nearer one lowers it further.
        lowered = _root(rows, values, searched, sizes, target, NEVER, NEVER)
        if lowered >= 0.999 * bound:
            break
        bound, target = lowered, 0.99 * lowered
    return max(bound, known)


def _attained(known: float) -> float:
    """Return the largest bound that counts as attained by the value ``known``."""
    return known * (1.0 + EQUAL)


def _more_than(known: float, values: RealArray) -> float:
    """Return the least value that is more than ``known``."""
    if (values == 1.0).all():
        return known + 1.0
    # A single device is more than none.
    return max(_attained(known), (1.0 - EQUAL) * float(values.min()))


def _rows(problem: Problem) -> tuple[ComplexArray, RealArray, int]:
    """Return (K', N) a_k and (K',) v_k of the devices that can be served.

    Last comes how many are not too strong; the strong ones come last in the arrays.
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
    rows = np.ascontiguousarray((problem.channels[:, order] / scale).T)
    return rows, problem.values[order], int(weak.sum())


def _root(
    rows: ComplexArray,
    values: RealArray,
    searched: int,
    sizes: RealArray,
    target: float,
    stop: MaskArray,
    spent: MaskArray,
) -> float:
    """Return the bound with nothing decided, lowered at most until it is below ``target``."""
    node = np.zeros((5, searched))
    node[HALF] = np.pi
    strong = float(values[searched:].sum())
    _, bound = relax(
        rows[:searched],
        sizes,
        np.sqrt(sizes),
        values,
        node,
        np.zeros(4),
        target - strong,
        PRECISION,
        np.zeros(rows.shape[1], np.complex128),
        stop,
        spent,
    )
    return strong + bound
