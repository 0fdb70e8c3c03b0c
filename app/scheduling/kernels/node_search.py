r"""Depth-first search for a receiver that serves a given number of devices, or a proof of none.

A node (:mod:`app.scheduling.kernels.node_bound`) is

1. settled: devices that are in throw out all they exclude
   (:mod:`app.scheduling.kernels.reach`); it is dropped if too few remain, and if just enough do,
   all of them are in;
2. bounded: dropped if its bound is below the target. An undecided device without which the bound
   would be below the target is in;
3. tried: the level of the relaxation's receiver is raised for one device more than are known to be
   served (:mod:`app.scheduling.kernels.least_norm`), if it is near;
4. split: on the phase of the weakest device that is in, which becomes the reference; without any,
   on the membership of the weakest device. Later on the device with the largest
   :math:`\lambda_k(1 - |z_k|^2)`: in or out, four sectors, or two halves of its sector.

The parts of a split cover the node: sectors overlap by more than the rounding of their bounds.
"""

import math

import numpy as np

from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.eigen import normalise, squared_norm
from app.scheduling.kernels.gram import gains
from app.scheduling.kernels.least_norm import minimise_norm, response
from app.scheduling.kernels.node_bound import (
    CENTRE,
    GAIN,
    HALF,
    IN,
    OUT,
    STATUS,
    UNDECIDED,
)
from app.scheduling.kernels.node_relaxation import PRUNED, STOPPED, relax
from app.scheduling.types import ComplexArray, MaskArray, RealArray

NONE, FOUND, INTERRUPTED, LIMIT = range(4)
"""How a search ends: proven that there is none, found one, interrupted, or too fine to decide."""

PRECISION = 1e-3
"""How close to its least bound a node is brought, where that decides."""

_PAD = 1e-12
"""By how much sectors overlap."""

_NARROWEST = 1e-7
"""Sectors of at most this half-width are not split."""

_NEAR = 0.5
"""A receiver is tried if it gives enough devices this share of the gain they need."""

_TOLERANCE, _VISITS = 1e-3, 40
"""How far its level is raised: as close to its bound, or as many visits per device."""

_LEVEL = 1.5e-9
"""Gain beyond one at which a device counts as served: the rows ask for less than is needed."""

_PREFER_MEMBERSHIP = 1.5
"""Factor on the score of undecided devices."""


@compiled
def settle(node: RealArray, reach: RealArray, target: int) -> bool:
    """Apply which devices exclude each other; False if fewer than ``target`` remain."""
    devices = node.shape[1]
    while True:
        remaining = undecided = 0
        for k in range(devices):
            if node[STATUS, k] == IN:
                for j in range(devices):
                    if min(reach[k, j], reach[j, k]) < 1.0:
                        if node[STATUS, j] == IN:
                            return False
                        node[STATUS, j] = OUT
        for k in range(devices):
            remaining += node[STATUS, k] != OUT
            undecided += node[STATUS, k] == UNDECIDED
        if remaining < target:
            return False
        if remaining > target or undecided == 0:
            return True
        for k in range(devices):
            if node[STATUS, k] == UNDECIDED:
                node[STATUS, k] = IN


@compiled
def largest_responses(node: RealArray, sizes: RealArray, reach: RealArray, most: RealArray) -> None:
    """Write ρ: the largest response of each device to a receiver that serves those that are in."""
    for k in range(node.shape[1]):
        most[k] = math.sqrt(sizes[k]) * (1.0 + _PAD)
        for j in range(node.shape[1]):
            if node[STATUS, j] == IN:
                most[k] = min(most[k], reach[j, k])
        most[k] = max(1.0, most[k])


@compiled
def weakest(node: RealArray, sizes: RealArray) -> int:
    """Return the weakest device that is in; if none is, the weakest undecided one."""
    for status in (IN, UNDECIDED):
        best = -1
        for k in range(node.shape[1]):
            if node[STATUS, k] == status and (best < 0 or sizes[k] < sizes[best]):
                best = k
        if best >= 0:
            return best
    return -1


@compiled
def most_promising(node: RealArray, rows: ComplexArray, receiver: ComplexArray) -> int:
    """Return the device with the largest λ_k(1 - |z_k|²) that can be split, -1 for none."""
    best, highest = -1, -math.inf
    # Off the path the receiver may be too long.
    required = max(1.0, squared_norm(receiver))
    for k in range(node.shape[1]):
        status = node[STATUS, k]
        if status == OUT or (status == IN and node[HALF, k] <= _NARROWEST):
            continue
        value = response(rows, k, receiver)
        missing = required - value.real**2 - value.imag**2
        score = node[GAIN, k] * missing
        if status == UNDECIDED:
            score *= _PREFER_MEMBERSHIP
        elif missing <= 0.0:
            # Its phase does not matter here.
            continue
        if score > highest:
            best, highest = k, score
    return best


@compiled
def push(
    stack: RealArray, stack_scalars: RealArray, top: int, node: RealArray, scalars: RealArray
) -> int:
    """Put a copy of a node on the stack; return its new height."""
    # Copied one by one: numba would compile the text of errors about shapes as well.
    for row in range(node.shape[0]):
        for k in range(node.shape[1]):
            stack[top, row, k] = node[row, k]
    for i in range(scalars.shape[0]):
        stack_scalars[top, i] = scalars[i]
    return top + 1


@compiled
def pop(
    stack: RealArray, stack_scalars: RealArray, top: int, node: RealArray, scalars: RealArray
) -> int:
    """Take a node from the stack; return its new height."""
    top -= 1
    for row in range(node.shape[0]):
        for k in range(node.shape[1]):
            node[row, k] = stack[top, row, k]
    for i in range(scalars.shape[0]):
        scalars[i] = stack_scalars[top, i]
    return top


@compiled
def split(
    k: int,
    phase: float,
    node: RealArray,
    scalars: RealArray,
    stack: RealArray,
    stack_scalars: RealArray,
    top: int,
) -> int:
    """Push the parts of a node, split at device k, the most promising last.

    Parameters
    ----------
    phase
        Argument of z_k, where sectors meet; infinite if device k is to be the reference.

    Returns
    -------
    The stack's new height.
    """
    if node[STATUS, k] == UNDECIDED:
        node[STATUS, k] = OUT
        top = push(stack, stack_scalars, top, node, scalars)
        node[STATUS, k] = IN
        if phase == math.inf:
            node[CENTRE, k] = node[HALF, k] = 0.0
        return push(stack, stack_scalars, top, node, scalars)
    if phase == math.inf:
        node[CENTRE, k] = node[HALF, k] = 0.0
        return push(stack, stack_scalars, top, node, scalars)
    centre, half = node[CENTRE, k], node[HALF, k]
    if half >= math.pi:
        node[HALF, k] = 0.25 * math.pi + _PAD
        for quarter in range(4):
            node[CENTRE, k] = phase + (2 * quarter + 1) * 0.25 * math.pi
            top = push(stack, stack_scalars, top, node, scalars)
        return top
    # From the sector's lower edge to where it is cut, at least a quarter of it to either side.
    first = (phase - (centre - half)) % (2.0 * math.pi)
    first = min(max(first, 0.5 * half), 1.5 * half)
    node[HALF, k] = 0.5 * first + _PAD
    node[CENTRE, k] = centre - half + 0.5 * first
    top = push(stack, stack_scalars, top, node, scalars)
    node[HALF, k] = half - 0.5 * first + _PAD
    node[CENTRE, k] = centre + 0.5 * first
    return push(stack, stack_scalars, top, node, scalars)


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
def improve(
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
def search(
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
        if not settle(node, reach, counted):
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
            if node[STATUS, k] == UNDECIDED and bound - (1.0 - node[GAIN, k]) < counted - _PAD:
                node[STATUS, k] = IN
        k, phase = weakest(node, sizes), math.inf
        if referenced:
            # Without a reference the relaxation's receiver is zero.
            k = most_promising(node, few, receiver)
            if k >= 0:
                value = response(rows, k, receiver)
                phase = math.atan2(value.imag, value.real)
            known = improve(rows, receiver, known, best, stop)
            if known >= target:
                return FOUND, known, nodes
        if k < 0 or top + 4 > capacity:
            return LIMIT, known, nodes
        top = split(k, phase, node, scalars, stack, stack_scalars, top)
    return NONE, known, nodes
