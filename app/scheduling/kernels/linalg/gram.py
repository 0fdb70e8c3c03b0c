r"""The weighted Gram matrix :math:`\sum_k w_k h_k h_k^H`, kept up to date as weights change.

A change of one device's weight is a rank-one update, O(N²), where a fresh product is O(KN²).
Only the lower triangle is kept.
"""

import math

import numpy as np

from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.linalg.eigen import normalise, squared_norm
from app.scheduling.kernels.linalg.factor import scaled
from app.scheduling.types import ComplexArray, RealArray

_CANCELLED = 1e-4
"""Rebuild when updates have taken away all but this share of the matrix.

The rest then carries the rounding errors of what was removed: 1e-16 of the largest trace so far.
"""

_FEW = 6
"""Up to so many changes of weights, the last matrix is updated in any case."""

_ORTHOGONAL = 1e-18
"""Below this share of the product of squared norms, a squared overlap is just rounding."""


@compiled
def by_device(channels: ComplexArray) -> ComplexArray:
    """Return the (N, K) channels as (K, N), one contiguous row per device."""
    antennas, devices = channels.shape
    rows = np.empty((devices, antennas), np.complex128)
    for n in range(antennas):
        for k in range(devices):
            rows[k, n] = channels[n, k]
    return rows


@compiled
def gains(rows: ComplexArray, receiver: ComplexArray, into: RealArray) -> None:
    """Write |h_kᴴc|² of every device into ``into``."""
    devices, antennas = rows.shape
    for k in range(devices):
        total = 0j
        for n in range(antennas):
            total += rows[k, n].conjugate() * receiver[n]
        into[k] = total.real * total.real + total.imag * total.imag


@compiled
def aligned_sum(rows: ComplexArray) -> ComplexArray:
    """Return the normalised sum of all channels, each rotated in phase with the sum so far.

    A start for the principal eigenvector that cannot cancel, and does not change if a device's
    channel is rotated (unless it is orthogonal to the sum). For all-zero channels it is the first
    antenna.
    """
    devices, antennas = rows.shape
    total = np.zeros(antennas, np.complex128)
    for k in range(devices):
        overlap = 0j
        for n in range(antennas):
            overlap += rows[k, n].conjugate() * total[n]
        size = overlap.real * overlap.real + overlap.imag * overlap.imag
        phase = 1 + 0j
        if size > _ORTHOGONAL * squared_norm(rows[k]) * squared_norm(total):
            phase = scaled(overlap, 1.0 / math.sqrt(size))
        for n in range(antennas):
            total[n] += phase * rows[k, n]
    if squared_norm(total) > 0.0:
        normalise(total)
    else:
        total[0] = 1.0
    return total


@compiled
def add_outer(gram: ComplexArray, row: ComplexArray, weight: float) -> None:
    """Add ``weight``·h hᴴ to the lower triangle of ``gram``."""
    for i in range(row.shape[0]):
        entry = scaled(row[i], weight)
        for j in range(i + 1):
            gram[i, j] += entry * row[j].conjugate()


@compiled
def reweigh(
    gram: ComplexArray, rows: ComplexArray, old: RealArray, new: RealArray, peak: float
) -> float:
    """Update ``gram`` from the weights ``old`` to ``new``, and ``old`` with it.

    Parameters
    ----------
    gram
        (N, N), lower triangle of Σ old_k h_k h_kᴴ, updated in place.
    rows
        (K, N) channels by device.
    old, new
        (K,) weights.
    peak
        The largest trace since the matrix was last built; 0 to build it.

    Returns
    -------
    The new ``peak``.
    """
    antennas = gram.shape[0]
    for k in range(rows.shape[0]):
        if new[k] != old[k]:
            add_outer(gram, rows[k], new[k] - old[k])
            old[k] = new[k]
    trace = 0.0
    for n in range(antennas):
        trace += gram[n, n].real
    if trace >= _CANCELLED * peak:
        return max(trace, peak)
    gram[:] = 0.0
    for k in range(rows.shape[0]):
        if old[k] != 0.0:
            add_outer(gram, rows[k], old[k])
    trace = 0.0
    for n in range(antennas):
        trace += gram[n, n].real
    return trace


@compiled
def reweigh_nearer(
    grams: ComplexArray,
    rows: ComplexArray,
    old: RealArray,
    new: RealArray,
    peaks: RealArray,
    last: int,
) -> int:
    """Give one of two matrices the weights ``new``: the one that takes fewer changes.

    When weights alternate between two sets, the matrix of two updates ago is nearer.

    Parameters
    ----------
    grams, old, peaks
        (2, N, N), (2, K) and (2,): of each matrix what :func:`reweigh` takes.
    last
        The matrix that had the last weights; all zero before the first call.

    Returns
    -------
    The matrix that has the weights ``new``.
    """
    changed = _changes(old[last], new)
    nearer = last
    if changed > _FEW and peaks[last] > 0.0:
        nearer = 1 - last
        if _changes(old[nearer], new) > changed:
            grams[nearer], old[nearer], peaks[nearer] = grams[last], old[last], peaks[last]
    peaks[nearer] = reweigh(grams[nearer], rows, old[nearer], new, peaks[nearer])
    return nearer


@compiled
def _changes(old: RealArray, new: RealArray) -> int:
    """Return how many weights differ."""
    count = 0
    for k in range(old.shape[0]):
        count += old[k] != new[k]
    return count
