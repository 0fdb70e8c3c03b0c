r"""The least-norm receiver of a fixed set of devices: sweeps and alignments until it converges.

The problem and its two bounds are those of :mod:`.dual.sweeps`.
"""

import math

import numpy as np

from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.dual.sweeps import holding, norm_of, realign, response, sweep
from app.scheduling.kernels.linalg.eigen import squared_norm
from app.scheduling.types import ComplexArray, IndexArray, MaskArray

SWEEPS = 2
"""Sweeps between two alignments."""

MAX_SWEEPS = 256
"""Limit if alignments come too soon for the sweeps to converge."""


@compiled
def minimise_norm(
    rows: ComplexArray,
    members: IndexArray,
    receiver: ComplexArray,
    tolerance: float,
    limit: int,
    stop: MaskArray,
    target: float = math.inf,
) -> int:
    r"""Raise min_k |a_kᴴc|/‖c‖ over the members to a local maximum, from ``receiver``.

    Ends when the level is within ``tolerance``, relatively, of the bound
    :math:`\|\sum_k\lambda_k b_k\|/\sum_k\lambda_k` for the receiver's own phases: then it solves
    their convex problem. While ``target`` lies between the two, it goes on. The best receiver seen
    is kept, so the level never falls.

    Parameters
    ----------
    rows
        (K, N) scaled channels, rotated in place.
    members
        Indices of devices with nonzero channels.
    receiver
        (N,) start, replaced by the best receiver found, of arbitrary norm.
    limit
        Limit on visits to a device; a round that has begun is completed.
    stop
        (1,), checked in every round.
    target
        Level at which to stop.

    Returns
    -------
    Number of visits.
    """
    devices, antennas = rows.shape
    count = members.shape[0]
    sizes = np.empty(devices)
    for k in members:
        sizes[k] = squared_norm(rows[k])
    multipliers = np.zeros(devices)
    responses = np.empty(devices)
    holders = np.empty(count, np.int64)
    combined, turned = np.empty(2 * antennas), np.empty(2 * antennas)
    # The same numbers, real and imaginary parts in turn.
    parts, start = rows.view(np.float64), receiver.view(np.float64)
    current = np.zeros(2 * antennas)
    smallest = realign(parts, multipliers, members, count, start, combined, turned, responses)
    best = smallest / norm_of(start)
    last = 0.0
    sweeps = SWEEPS
    visits = 0
    while visits < limit and best < target and not stop[0]:
        sweep(parts, sizes, multipliers, members, count, current)
        held = holding(multipliers, members, count, holders)
        for _ in range(sweeps - 1):
            sweep(parts, sizes, multipliers, holders, held, current)
        visits += 2 * count + (sweeps - 1) * held
        smallest = realign(parts, multipliers, members, count, current, combined, turned, responses)
        level = smallest / norm_of(current)
        if level <= last:
            sweeps = min(2 * sweeps, MAX_SWEEPS)
        last = level
        if level > best:
            best = level
            start[:] = current
        total = 0.0
        for k in members:
            total += multipliers[k]
        bound = norm_of(combined) / total
        if level >= (1.0 - tolerance) * bound and bound < target:
            break
        current[:] = combined
    return visits


@compiled
def level_of(rows: ComplexArray, receiver: ComplexArray) -> float:
    """Return min_k |a_kᴴc|/‖c‖ over all rows; 0 for c = 0."""
    size = squared_norm(receiver)
    if not size > 0.0:
        return 0.0
    least = math.inf
    for k in range(rows.shape[0]):
        value = response(rows, k, receiver)
        least = min(least, value.real * value.real + value.imag * value.imag)
    return math.sqrt(least / size)


@compiled
def best_of_starts(
    rows: ComplexArray, starts: ComplexArray, target: float, tolerance: float, limit: int
) -> tuple[ComplexArray, float]:
    """Improve each of the (R, N) ``starts`` for all of ``rows`` until one reaches ``target``.

    Parameters
    ----------
    tolerance, limit
        For each start, as for :func:`minimise_norm`.

    Returns
    -------
    The best receiver (N,), of arbitrary norm, and its level.
    """
    members = np.arange(rows.shape[0])
    turned = rows.copy()
    never = np.zeros(1, np.bool_)
    best = 0.0
    receiver = starts[0].copy()
    for r in range(starts.shape[0]):
        candidate = starts[r].copy()
        minimise_norm(turned, members, candidate, tolerance, limit, never, target)
        level = level_of(rows, candidate)
        if level > best:
            best = level
            receiver[:] = candidate
        if best >= target:
            break
    return receiver, best
