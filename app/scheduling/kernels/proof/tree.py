r"""Depth-first search for a receiver that serves a given value, or a proof that there is none.

A node (:mod:`.proof.bound`) is

1. settled: devices that are in throw out all they exclude
   (:mod:`.proof.reach`); it is dropped if too few remain, and if just enough
   do, those it needs are in;
2. bounded: dropped if its bound is below the target. An undecided device without which the bound
   would be below the target is in;
3. tried: the level of the relaxation's receiver is raised for just more value than is known to be
   served (:mod:`.dual.least_norm`), if it is near;
4. split: on the phase of the weakest device that is in, which becomes the reference; without any,
   on the membership of the weakest device. Later on the device with the largest
   :math:`\lambda_k(1 - |z_k|^2)`: in or out, four sectors, or two halves of its sector.

A node with nothing left to split, because its devices are served with equality or just not, stays
undecided: its bound is kept, and the search goes on without it.

:mod:`.proof.branching` holds 1 and 4.
"""

import math

import numpy as np

from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.dual.least_norm import minimise_norm
from app.scheduling.kernels.dual.sweeps import response
from app.scheduling.kernels.linalg.eigen import normalise, squared_norm
from app.scheduling.kernels.linalg.gram import gains
from app.scheduling.kernels.proof.bound import GAIN, HALF, IN, STATUS, UNDECIDED
from app.scheduling.kernels.proof.branching import (
    PAD,
    apply_exclusions,
    largest_responses,
    most_promising,
    pop,
    push,
    split,
    weakest,
)
from app.scheduling.kernels.proof.relaxation import PRUNED, STOPPED, relax
from app.scheduling.types import ComplexArray, MaskArray, RealArray

NONE, FOUND, INTERRUPTED, LIMIT = range(4)
"""How a search ends: proven that there is none, found one, interrupted, or nodes undecided."""

PRECISION = 1e-3
"""How close to its least bound a node is brought, where that decides."""

MOST_UNDECIDED = 8
"""Give up after this many undecidable nodes."""

_NEAR = 0.5
"""A receiver is tried if it gives enough devices this share of the gain they need."""

_TOLERANCE, _VISITS = 1e-3, 40
"""How far its level is raised: as close to its bound, or as many visits per device."""

_LEVEL = 1.5e-9
"""Gain beyond one at which a device counts as served: the rows ask for less than is needed."""


@compiled
def unit_gains(rows: ComplexArray, receiver: ComplexArray) -> RealArray:
    """Return |a_kᴴc|²/‖c‖² (K,), for c ≠ 0."""
    size = squared_norm(receiver)
    found = np.empty(rows.shape[0])
    gains(rows, receiver, found)
    for k in range(rows.shape[0]):
        found[k] /= size
    return found


@compiled
def try_receiver(
    rows: ComplexArray,
    values: RealArray,
    receiver: ComplexArray,
    known: float,
    best: ComplexArray,
    stop: MaskArray,
) -> float:
    """Raise the level of a receiver for just more value than is ``known`` to be served.

    Returns
    -------
    The value that ``best`` serves, which is the raised receiver if it serves more.
    """
    if not squared_norm(receiver) > 0.0:
        return known
    found = unit_gains(rows, receiver)
    order = np.argsort(-found)
    worth = 0.0
    count = 0
    while count < rows.shape[0] and worth <= known + PAD:
        worth += values[order[count]]
        count += 1
    if worth <= known + PAD or found[order[count - 1]] < _NEAR:
        return known
    while count < rows.shape[0] and found[order[count]] >= 1.0:
        count += 1
    limit = _VISITS * count
    minimise_norm(rows.copy(), order[:count], receiver, _TOLERANCE, limit, stop, 1.0 + _LEVEL)
    served = 0.0
    found = unit_gains(rows, receiver)
    for k in range(rows.shape[0]):
        if found[k] >= 1.0 + _LEVEL:
            served += values[k]
    if served <= known + PAD:
        return known
    normalise(receiver)
    for n in range(best.shape[0]):
        best[n] = receiver[n]
    return served


@compiled
def search_tree(
    rows: ComplexArray,
    searched: int,
    sizes: RealArray,
    reach: RealArray,
    values: RealArray,
    target: float,
    known: float,
    best: ComplexArray,
    stop: MaskArray,
    spent: MaskArray,
) -> tuple[int, float, float, int]:
    """Look for a receiver that serves devices of the value ``target``.

    Parameters
    ----------
    rows
        (K, N) scaled channels a. The bound counts all but the first ``searched`` as served.
    sizes, reach
        (L,) squared norms and (L, L) pairwise reach of the first L = ``searched``.
    values
        (K,) v, at most one.
    known
        The value that is known to be served, less than ``target``.
    best
        (N,) receives any receiver that serves more.
    stop, spent
        (1,) masks; the search ends when either becomes true.

    Returns
    -------
    NONE, FOUND, INTERRUPTED or LIMIT; the value now known to be served; after LIMIT, no receiver
    serves more than this; the number of nodes.
    """
    strong = 0.0
    for k in range(searched, rows.shape[0]):
        strong += values[k]
    counted = target - strong
    undecided_bound = 0.0
    undecided_nodes = 0
    few = rows[:searched]
    # Every level of the tree adds at most three; pages that are not used cost nothing.
    capacity = 64 + 16 * searched
    stack = np.empty((capacity, 5, searched))
    stack_scalars = np.empty((capacity, 4))
    node, scalars = np.zeros((5, searched)), np.zeros(4)
    node[HALF] = math.pi
    most = np.empty(searched)
    receiver = np.empty(rows.shape[1], np.complex128)
    top = push(stack, stack_scalars, 0, node, scalars)
    nodes = 0
    while top > 0:
        top = pop(stack, stack_scalars, top, node, scalars)
        if not apply_exclusions(node, reach, values, counted):
            continue
        largest_responses(node, sizes, reach, most)
        outcome, bound = relax(
            few, sizes, most, values, node, scalars, counted, PRECISION, receiver, stop, spent
        )
        nodes += 1
        if outcome == PRUNED:
            continue
        if outcome == STOPPED:
            return INTERRUPTED, known, math.inf, nodes
        referenced = False
        for k in range(searched):
            referenced |= node[STATUS, k] == IN and node[HALF, k] == 0.0
            if node[STATUS, k] == UNDECIDED and bound - (values[k] - node[GAIN, k]) < counted - PAD:
                node[STATUS, k] = IN
        k, phase = weakest(node, sizes), math.inf
        if referenced:
            # Without a reference the relaxation's receiver is zero.
            k = most_promising(node, few, receiver)
            if k >= 0:
                value = response(rows, k, receiver)
                phase = math.atan2(value.imag, value.real)
            known = try_receiver(rows, values, receiver, known, best, stop)
            if known >= target - PAD:
                return FOUND, known, math.inf, nodes
        if k < 0 or top + 4 > capacity:
            undecided_bound = max(undecided_bound, bound + strong)
            undecided_nodes += 1
            if undecided_nodes > MOST_UNDECIDED:
                return LIMIT, known, math.inf, nodes
            continue
        top = split(k, phase, node, scalars, stack, stack_scalars, top)
    return LIMIT if undecided_bound > 0.0 else NONE, known, undecided_bound, nodes
