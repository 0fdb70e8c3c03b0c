r"""What a node of the search implies, and how it is split into parts that cover it.

:mod:`.proof.bound` says what a node is. Sectors overlap by more than the
rounding of their bounds.
"""

import math

from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.dual.sweeps import response
from app.scheduling.kernels.linalg.eigen import squared_norm
from app.scheduling.kernels.proof.bound import (
    CENTRE,
    GAIN,
    HALF,
    IN,
    OUT,
    STATUS,
    UNDECIDED,
)
from app.scheduling.types import ComplexArray, RealArray

PAD = 1e-12
"""By how much sectors overlap, and the room for rounding in sums of devices."""

_NARROWEST = 1e-7
"""Sectors of at most this half-width are not split."""

_PREFER_MEMBERSHIP = 1.5
"""Factor on the score of undecided devices."""


@compiled
def apply_exclusions(node: RealArray, reach: RealArray, values: RealArray, target: float) -> bool:
    """Apply which devices exclude each other; False if less value than ``target`` remains.

    An undecided device without which too little would remain is in.
    """
    devices = node.shape[1]
    # Each time but the last, at least one more is in.
    for _ in range(devices + 1):
        remaining = 0.0
        for k in range(devices):
            if node[STATUS, k] == IN:
                for j in range(devices):
                    if min(reach[k, j], reach[j, k]) < 1.0:
                        if node[STATUS, j] == IN:
                            return False
                        node[STATUS, j] = OUT
        for k in range(devices):
            if node[STATUS, k] != OUT:
                remaining += values[k]
        if remaining < target - PAD:
            return False
        settled = True
        for k in range(devices):
            if node[STATUS, k] == UNDECIDED and remaining - values[k] < target - PAD:
                node[STATUS, k] = IN
                settled = False
        if settled:
            return True
    return True


@compiled
def largest_responses(node: RealArray, sizes: RealArray, reach: RealArray, most: RealArray) -> None:
    """Write ρ: the largest response of each device to a receiver that serves those that are in."""
    for k in range(node.shape[1]):
        most[k] = math.sqrt(sizes[k]) * (1.0 + PAD)
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
        node[HALF, k] = 0.25 * math.pi + PAD
        for quarter in range(4):
            node[CENTRE, k] = phase + (2 * quarter + 1) * 0.25 * math.pi
            top = push(stack, stack_scalars, top, node, scalars)
        return top
    # From the sector's lower edge to where it is cut, at least a quarter of it to either side.
    first = (phase - (centre - half)) % (2.0 * math.pi)
    first = min(max(first, 0.5 * half), 1.5 * half)
    node[HALF, k] = 0.5 * first + PAD
    node[CENTRE, k] = centre - half + 0.5 * first
    top = push(stack, stack_scalars, top, node, scalars)
    node[HALF, k] = half - 0.5 * first + PAD
    node[CENTRE, k] = centre + 0.5 * first
    return push(stack, stack_scalars, top, node, scalars)
