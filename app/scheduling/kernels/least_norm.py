r"""The least-norm receiver of a fixed set of devices, by coordinate ascent on its dual.

Divide every channel by what its device needs, :math:`a_k = h_k/r_k`. One unit receiver gives
every :math:`k \in S` its :math:`|h_k^H c| \ge r_k` if and only if the least
:math:`\|c\|` with :math:`|a_k^H c| \ge 1` is at most one. Rotate the channels so that each response
is real, :math:`b_k = u_k a_k` with :math:`u_k = a_k^H c/|a_k^H c|`; then the problem is convex:

.. math::
    \min \tfrac12\|c\|^2 \text{ s.t. } \Re\{b_k^H c\} \ge 1
    \quad\Longleftrightarrow\quad
    \max_{\lambda\ge 0}\ \sum_k\lambda_k - \tfrac12\|c\|^2,\quad c = \sum_k\lambda_k b_k.

One visit to device k is the exact maximum over its own :math:`\lambda_k`,

.. math::
    \lambda_k \leftarrow \max(0, \lambda_k + (1 - \Re\{b_k^H c\})/\|a_k\|^2),

and costs O(N), so a sweep over S costs O(|S|N) and needs no matrix. The method repeats a few
sweeps and then rotates the channels again (*align*). The phases never get worse, because the last
receiver is still feasible for the new ones.

Two bounds come for free. Any c reaches the level :math:`\min_k |a_k^H c|/\|c\|`, and with the
current phases nothing exceeds :math:`\|\sum_k\lambda_k b_k\|/\sum_k\lambda_k`.
"""

import math

import numpy as np

from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.eigen import squared_norm
from app.scheduling.kernels.factor import scaled
from app.scheduling.types import ComplexArray, IndexArray, MaskArray, RealArray

SWEEPS = 2
"""Sweeps between two alignments."""

MAX_SWEEPS = 256
"""Limit if alignments come too soon for the sweeps to converge."""


@compiled
def scaled_rows(channels: ComplexArray, needed: RealArray) -> ComplexArray:
    """Return a_k = h_k/r_k as (K, N), one contiguous row per device.

    Parameters
    ----------
    channels
        (N, K).
    needed
        (K,) positive magnitudes r.
    """
    antennas, devices = channels.shape
    rows = np.empty((devices, antennas), np.complex128)
    for n in range(antennas):
        for k in range(devices):
            rows[k, n] = scaled(channels[n, k], 1.0 / needed[k])
    return rows


@compiled
def response(rows: ComplexArray, k: int, receiver: ComplexArray) -> complex:
    """Return b_kᴴc, for row k of ``rows``.

    The row is passed by index: a view of it would cost more than the product.
    """
    # Four independent sums, which can run in parallel.
    first = second = third = fourth = 0.0
    for n in range(receiver.shape[0]):
        entry, other = rows[k, n], receiver[n]
        first += entry.real * other.real
        second += entry.imag * other.imag
        third += entry.real * other.imag
        fourth += entry.imag * other.real
    return complex(first + second, third - fourth)


@compiled
def align(rows: ComplexArray, k: int, receiver: ComplexArray) -> float:
    """Rotate row k so that its response is real and not negative; return that response."""
    value = response(rows, k, receiver)
    magnitude = math.sqrt(value.real * value.real + value.imag * value.imag)
    if magnitude > 0.0:
        cosine, sine = value.real / magnitude, value.imag / magnitude
        for n in range(receiver.shape[0]):
            entry = rows[k, n]
            rows[k, n] = complex(
                entry.real * cosine - entry.imag * sine, entry.real * sine + entry.imag * cosine
            )
    return magnitude


@compiled
def add(rows: ComplexArray, k: int, factor: float, receiver: ComplexArray) -> None:
    """Add ``factor`` times row k to ``receiver``."""
    for n in range(receiver.shape[0]):
        receiver[n] += scaled(rows[k, n], factor)


@compiled
def sweep(
    rows: ComplexArray,
    sizes: RealArray,
    multipliers: RealArray,
    members: IndexArray,
    count: int,
    receiver: ComplexArray,
) -> None:
    """Visit the first ``count`` of ``members`` once, in order.

    Parameters
    ----------
    rows, sizes
        (K, N) aligned channels b and (K,) their squared norms, positive for members.
    multipliers, receiver
        (K,) λ and (N,) c = Σ λ_k b_k, updated in place.
    """
    for i in range(count):
        k = members[i]
        first = second = 0.0
        for n in range(receiver.shape[0]):
            entry, other = rows[k, n], receiver[n]
            first += entry.real * other.real
            second += entry.imag * other.imag
        change = (1.0 - (first + second)) / sizes[k]
        change = max(change, -multipliers[k])
        if change != 0.0:
            multipliers[k] += change
            add(rows, k, change, receiver)


@compiled
def holding(multipliers: RealArray, members: IndexArray, count: int, into: IndexArray) -> int:
    """Write those of the first ``count`` members with λ_k > 0 into ``into``; return how many.

    At the optimum at most 2N - 1 devices determine the receiver; sweeps over them alone are cheap.
    """
    held = 0
    for i in range(count):
        if multipliers[members[i]] > 0.0:
            into[held] = members[i]
            held += 1
    return held


@compiled
def realign(
    rows: ComplexArray,
    multipliers: RealArray,
    members: IndexArray,
    count: int,
    receiver: ComplexArray,
    combined: ComplexArray,
    responses: RealArray,
) -> float:
    """Align the members with ``receiver`` and write Σ λ_k b_k for the new phases.

    Parameters
    ----------
    combined
        (N,) receives the sum; ``receiver`` is not changed.
    responses
        (K,) receives |a_kᴴc| of the members.

    Returns
    -------
    The smallest response.
    """
    combined[:] = 0.0
    smallest = math.inf
    for i in range(count):
        k = members[i]
        value = response(rows, k, receiver)
        magnitude = math.sqrt(value.real * value.real + value.imag * value.imag)
        responses[k] = magnitude
        smallest = min(smallest, magnitude)
        multiplier = multipliers[k]
        if multiplier == 0.0 and value.real >= 1.0:
            # It is not part of the sum, and its constraint holds at its current phase.
            continue
        cosine, sine = 1.0, 0.0
        if magnitude > 0.0:
            cosine, sine = value.real / magnitude, value.imag / magnitude
        for n in range(receiver.shape[0]):
            entry = rows[k, n]
            real = entry.real * cosine - entry.imag * sine
            imaginary = entry.real * sine + entry.imag * cosine
            rows[k, n] = complex(real, imaginary)
            combined[n] += complex(multiplier * real, multiplier * imaginary)
    return smallest


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
    their convex problem. The best receiver seen is kept, so the level never falls.

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
    current = np.zeros(antennas, np.complex128)
    combined = np.empty(antennas, np.complex128)
    smallest = realign(rows, multipliers, members, count, receiver, combined, responses)
    best = smallest / math.sqrt(squared_norm(receiver))
    last = 0.0
    sweeps = SWEEPS
    visits = 0
    while visits < limit and best < target and not stop[0]:
        sweep(rows, sizes, multipliers, members, count, current)
        held = holding(multipliers, members, count, holders)
        for _ in range(sweeps - 1):
            sweep(rows, sizes, multipliers, holders, held, current)
        visits += 2 * count + (sweeps - 1) * held
        smallest = realign(rows, multipliers, members, count, current, combined, responses)
        level = smallest / math.sqrt(squared_norm(current))
        if level <= last:
            sweeps = min(2 * sweeps, MAX_SWEEPS)
        last = level
        if level > best:
            best = level
            receiver[:] = current
        total = 0.0
        for k in members:
            total += multipliers[k]
        if level * total >= (1.0 - tolerance) * math.sqrt(squared_norm(combined)):
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
