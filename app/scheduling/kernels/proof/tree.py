r"""Depth-first search for a receiver that serves a given number of devices, or a proof of none.

A node (:mod:`.proof.bound`) is

1. settled: devices that are in throw out all they exclude
   (:mod:`.proof.reach`); it is dropped if too few remain, and if just enough
   do, all of them are in;
2. bounded: dropped if its bound is below the target. An undecided device without which the bound
   would be below the target is in;
3. tried: the level of the relaxation's receiver is raised for one device more than are known to be
   served (:mod:`.dual.least_norm`), if it is near;
4. split: on the phase of the weakest device that is in, which becomes the reference; without any,
   on the membership of the weakest device. Later on the device with the largest
   :math:`\lambda_k(1 - |z_k|^2)`: in or out, four sectors, or two halves of its sector.

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
"""How a search ends: proven that there is none, found one, interrupted, or too fine to decide."""

PRECISION = 1e-3
"""How close to its least bound a node is brought, where that decides."""

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
    rows: ComplexArray, receiver: ComplexArray, known: int, best: ComplexArray, stop: MaskArray
) -> int:
    """Raise the level of a receiver for one device more than are ``known`` to be served.

    Returns
    -------
    The number of devices that ``best`` serves, which is the raised receiver if it serves more.
    """
    if not squared_norm(receiver) > 0.0:
        return known
    found = unit_gains(rows, receiver)
    order = np.argsort(-found)
    if found[order[known]] < _NEAR:
        return known
    count = known + 1
    while count < rows.shape[0] and found[order[count]] >= 1.0:
        count += 1
    limit = _VISITS * count
    minimise_norm(rows.copy(), order[:count], receiver, _TOLERANCE, limit, stop, 1.0 + _LEVEL)
    served = 0
    for gain in unit_gains(rows, receiver):
        served += gain >= 1.0 + _LEVEL
    if served <= known:
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
    target: int,
    known: int,
    best: ComplexArray,
    stop: MaskArray,
    spent: MaskArray,
) -> tuple[int, int, int]:
    """Look for a receiver that serves ``target`` of the devices.

    Parameters
    ----------
    rows
        (K, N) scaled channels a. The bound counts all but the first ``searched`` as served.
    sizes, reach
        (L,) squared norms and (L, L) pairwise reach of the first L = ``searched``.
    known
        How many devices are known to be served, less than ``target``.
    best
        (N,) receives any receiver that serves more.
    stop, spent
        (1,) masks; the search ends when either becomes true.

    Returns
    -------
    NONE, FOUND, INTERRUPTED or LIMIT; the number now known to be served, and of nodes.
    """
    counted = target - (rows.shape[0] - searched)
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
        if not apply_exclusions(node, reach, counted):
            continue
        largest_responses(node, sizes, reach, most)
        outcome, bound = relax(
            few, sizes, most, node, scalars, counted, PRECISION, receiver, stop, spent
        )
        nodes += 1
        if outcome == PRUNED:
            continue
        if outcome == STOPPED:
            return INTERRUPTED, known, nodes
        referenced = False
        for k in range(searched):
            referenced |= node[STATUS, k] == IN and node[HALF, k] == 0.0
            if node[STATUS, k] == UNDECIDED and bound - (1.0 - node[GAIN, k]) < counted - PAD:
                node[STATUS, k] = IN
        k, phase = weakest(node, sizes), math.inf
        if referenced:
            # Without a reference the relaxation's receiver is zero.
            k = most_promising(node, few, receiver)
            if k >= 0:
                value = response(rows, k, receiver)
                phase = math.atan2(value.imag, value.real)
            known = try_receiver(rows, receiver, known, best, stop)
            if known >= target:
                return FOUND, known, nodes
        if k < 0 or top + 4 > capacity:
            return LIMIT, known, nodes
        top = split(k, phase, node, scalars, stack, stack_scalars, top)
    return NONE, known, nodes
