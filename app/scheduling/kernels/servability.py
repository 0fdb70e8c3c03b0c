r"""The receiver that serves the worst of a set of devices best, from a given start.

Serving all of a set is :math:`\min\|c\|^2` subject to :math:`|a_k^H c| \ge 1`, with
:math:`a_k = h_k/\sqrt{q_k}`; there is a receiver exactly if the minimum is at most 1. With the
phases :math:`u_k` of :math:`a_k^H c` held fixed it is convex,

.. math:: \min \|c\|^2 \quad\text{s.t.}\quad \operatorname{Re}(u_k^* a_k^H c) \ge 1 ,

and its solution is :math:`c = \sum_k \lambda_k u_k a_k` with multipliers :math:`\lambda \ge 0` that
coordinate ascent finds without any matrix:
:math:`\lambda_k \leftarrow \max(0, \lambda_k + (1 - \operatorname{Re}(u_k^* a_k^H c))/\|a_k\|^2)`.
Then the phases are taken anew, and so on.

Cost: O(KN) a sweep over the devices.
"""

import math

import numpy as np

from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.eigen import scaled, squared_norm
from app.scheduling.types import ComplexArray

_SWEEPS = 10
"""Sweeps with the same phases."""

_MOST_ROUNDS = 100
_PATIENCE = 4
"""Rounds in a row without progress after which a start is given up."""

_PROGRESS = 0.01
"""Progress is to close this share of the distance to serving all."""


@compiled
def _response(row: ComplexArray, receiver: ComplexArray) -> complex:
    """Return a_kᴴc."""
    total = 0j
    for n in range(row.shape[0]):
        total += row[n].conjugate() * receiver[n]
    return total


@compiled
def worst_gain(rows: ComplexArray, receiver: ComplexArray) -> float:
    """Return the smallest |a_kᴴc|²/‖c‖²; 0 for c = 0."""
    size = squared_norm(receiver)
    if not size > 0.0:
        return 0.0
    worst = math.inf
    for k in range(rows.shape[0]):
        response = _response(rows[k], receiver)
        gain = response.real * response.real + response.imag * response.imag
        worst = min(worst, gain)
    return worst / size


@compiled
def raise_worst_gain(rows: ComplexArray, receiver: ComplexArray, target: float) -> float:
    """Improve ``receiver`` in place until its worst gain reaches ``target`` or gets stuck.

    Parameters
    ----------
    rows
        (K, N), row k is a_k, not zero.
    receiver
        (N,) the start; replaced by the best receiver found, which need not have unit norm.

    Returns
    -------
    Its worst gain.
    """
    devices, antennas = rows.shape
    multipliers = np.zeros(devices)
    phases = np.empty(devices, np.complex128)
    current = receiver.copy()
    best = worst_gain(rows, receiver)
    stuck = 0
    for _ in range(_MOST_ROUNDS):
        if best >= target or stuck >= _PATIENCE:
            break
        for k in range(devices):
            response = _response(rows[k], current)
            size = math.sqrt(response.real * response.real + response.imag * response.imag)
            phases[k] = scaled(response, 1.0 / size) if size > 0.0 else 1 + 0j
        current[:] = 0.0
        for k in range(devices):
            turned = scaled(phases[k], multipliers[k])
            for n in range(antennas):
                current[n] += turned * rows[k, n]
        for _ in range(_SWEEPS):
            for k in range(devices):
                response = _response(rows[k], current) * phases[k].conjugate()
                changed = max(0.0, multipliers[k] + (1.0 - response.real) / squared_norm(rows[k]))
                turned = scaled(phases[k], changed - multipliers[k])
                multipliers[k] = changed
                for n in range(antennas):
                    current[n] += turned * rows[k, n]
        gain = worst_gain(rows, current)
        stuck = 0 if gain - best > _PROGRESS * (target - best) else stuck + 1
        if gain > best:
            best = gain
            receiver[:] = current
    return best


@compiled
def best_of_starts(
    rows: ComplexArray, starts: ComplexArray, target: float
) -> tuple[ComplexArray, float]:
    """Improve each of the (R, N) ``starts`` until one reaches ``target``; return the best.

    Returns
    -------
    receiver (N,), its worst gain.
    """
    best = 0.0
    receiver = starts[0].copy()
    for r in range(starts.shape[0]):
        candidate = starts[r].copy()
        gain = raise_worst_gain(rows, candidate, target)
        if gain > best:
            best = gain
            receiver[:] = candidate
        if best >= target:
            break
    return receiver, best
