r"""The steps towards the least-norm receiver of a set: coordinate ascent on its dual.

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

The steps that are repeated most take complex arrays as real ones of twice the length, real and
imaginary parts in turn: :math:`\Re\{b^H c\}` is then a plain dot product.
"""

import math

import numpy as np

from app.scheduling.kernels.compile import compiled, vectorised
from app.scheduling.kernels.linalg.factor import scaled
from app.scheduling.types import ComplexArray, IndexArray, RealArray


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


@vectorised
def response(rows: ComplexArray, k: int, receiver: ComplexArray) -> complex:
    """Return b_kᴴc, for row k of ``rows``.

    The row is passed by index: a view of it would cost more than the product.
    """
    real = imaginary = 0.0
    for n in range(receiver.shape[0]):
        entry, other = rows[k, n], receiver[n]
        real += entry.real * other.real + entry.imag * other.imag
        imaginary += entry.real * other.imag - entry.imag * other.real
    return complex(real, imaginary)


@vectorised
def rotate(rows: ComplexArray, k: int, cosine: float, sine: float) -> None:
    """Multiply row k by the number cosine + j sine."""
    for n in range(rows.shape[1]):
        entry = rows[k, n]
        rows[k, n] = complex(
            entry.real * cosine - entry.imag * sine, entry.real * sine + entry.imag * cosine
        )


@compiled
def align(rows: ComplexArray, k: int, receiver: ComplexArray) -> float:
    """Rotate row k so that its response is real and not negative; return that response."""
    value = response(rows, k, receiver)
    magnitude = math.sqrt(value.real * value.real + value.imag * value.imag)
    if magnitude > 0.0:
        rotate(rows, k, value.real / magnitude, value.imag / magnitude)
    return magnitude


@vectorised
def add(rows: ComplexArray, k: int, factor: float, receiver: ComplexArray) -> None:
    """Add ``factor`` times row k to ``receiver``."""
    for n in range(receiver.shape[0]):
        receiver[n] += scaled(rows[k, n], factor)


@vectorised
def norm_of(vector: RealArray) -> float:
    """Return ‖c‖ of the parts of c."""
    total = 0.0
    for n in range(vector.shape[0]):
        total += vector[n] * vector[n]
    return math.sqrt(total)


@compiled
def _change(reached: float, size: float, multiplier: float) -> float:
    """Return how far a visit moves λ_k; the division does not wait for ``reached``."""
    return max((1.0 - reached) * (1.0 / size), -multiplier)


@vectorised
def sweep(
    rows: RealArray,
    sizes: RealArray,
    multipliers: RealArray,
    members: IndexArray,
    count: int,
    receiver: RealArray,
) -> None:
    """Visit the first ``count`` of ``members`` once, in order.

    Parameters
    ----------
    rows, sizes
        (K, 2N) parts of the aligned channels b and (K,) their squared norms, positive for members.
    multipliers, receiver
        (K,) λ and (2N,) parts of c = Σ λ_k b_k, updated in place.
    """
    for i in range(count):
        k = members[i]
        reached = 0.0
        for n in range(receiver.shape[0]):
            reached += rows[k, n] * receiver[n]
        change = _change(reached, sizes[k], multipliers[k])
        if change != 0.0:
            multipliers[k] += change
            for n in range(receiver.shape[0]):
                receiver[n] += change * rows[k, n]


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


@vectorised
def realign(
    rows: RealArray,
    multipliers: RealArray,
    members: IndexArray,
    count: int,
    receiver: RealArray,
    combined: RealArray,
    turned: RealArray,
    responses: RealArray,
) -> float:
    """Align the members with ``receiver`` and write Σ λ_k b_k for the new phases.

    Parameters
    ----------
    rows, receiver
        (K, 2N), (2N,) parts of the channels, rotated in place, and of c, not changed.
    combined
        (2N,) receives the parts of the sum.
    turned
        (2N,) receives the parts of -jc, whose products with the rows are the imaginary parts.
    responses
        (K,) receives |a_kᴴc| of the members.

    Returns
    -------
    The smallest response.
    """
    for n in range(0, receiver.shape[0], 2):
        turned[n], turned[n + 1] = receiver[n + 1], -receiver[n]
    for n in range(receiver.shape[0]):
        combined[n] = 0.0
    smallest = math.inf
    for i in range(count):
        k = members[i]
        real = imaginary = 0.0
        for n in range(receiver.shape[0]):
            real += rows[k, n] * receiver[n]
            imaginary += rows[k, n] * turned[n]
        magnitude = math.sqrt(real * real + imaginary * imaginary)
        responses[k] = magnitude
        smallest = min(smallest, magnitude)
        multiplier = multipliers[k]
        if multiplier == 0.0 and real >= 1.0:
            # It is not part of the sum, and its constraint holds at its current phase.
            continue
        if magnitude > 0.0:
            cosine, sine = real / magnitude, imaginary / magnitude
            for n in range(0, receiver.shape[0], 2):
                first, second = rows[k, n], rows[k, n + 1]
                rows[k, n] = first * cosine - second * sine
                rows[k, n + 1] = first * sine + second * cosine
        for n in range(receiver.shape[0]):
            combined[n] += multiplier * rows[k, n]
    return smallest
