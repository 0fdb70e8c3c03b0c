r"""An interior-point method for the lifted problem, the semidefinite relaxation of scheduling.

With :math:`a_k = h_k/\sqrt{q_k}` (:math:`q_k` the required gain) a unit receiver c serves device k
when :math:`|a_k^H c|^2 \ge 1`. With C in place of :math:`cc^H`, and slacks s, the problem is

.. math:: \min_{C \succeq 0,\ s \ge 0} \langle B, C\rangle + \sum_k w_k s_k
    \quad\text{s.t.}\quad \operatorname{tr} C = 1,\quad 1 - a_k^H C a_k \le s_k .

The constraints are homogeneous in (C, s), so a trace of exactly one loses nothing against "at least
one". An infinite :math:`w_k` makes a constraint hard. Its dual has K + 1 variables and no slacks,

.. math:: \max_{\tau,\ 0 \le \lambda \le w} \tau + \sum_k \lambda_k
    \quad\text{s.t.}\quad M = B - \tau I - \sum_k \lambda_k a_k a_k^H \succeq 0 ,

and Newton's method follows the maximum of it plus
:math:`\mu(\log\det M + \sum\log\lambda_k + \sum\log(w_k - \lambda_k))` as μ falls. On that path
:math:`C = \mu M^{-1}` is strictly feasible, and within (N + 2K)μ of the optimum. With
:math:`X = M^{-1}` the Hessian is made of :math:`|a_i^H X a_j|^2`, :math:`\|X a_i\|^2` and
:math:`\operatorname{tr} X^2`: no matrix larger than K + 1 is ever formed, whereas a general
cone solver works with all N² entries of C.

Cost: O(N³ + KN² + K²N + K³) per step, 20 to 40 steps.
"""

import math

import numpy as np

from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.linalg.factor import factor_below, scaled
from app.scheduling.kernels.linalg.gram import add_outer
from app.scheduling.kernels.linalg.newton import invert_factored, is_sufficient, longest_step
from app.scheduling.types import ComplexArray, RealArray

SOLVED, INFEASIBLE, FAILED = 0, 1, 2

_MAX_STEPS = 200
_CENTRED = 0.25
"""Squared Newton decrement below which a point is close enough to the path to move on."""

_CENTRED_LAST = 1e-12
"""The same at the end of the path: C is only as feasible as the point is close to the path."""

_ROUNDING = 1e-11
"""Share of its terms by which the dual must exceed every value of the primal to prove anything."""

_SHARE = 0.9
"""A step covers at most this share of the way to the nearest bound."""

_SHRINK = 0.1
"""Factor by which μ falls from one point of the path to the next."""


@compiled
def _barrier(
    rows: ComplexArray,
    weights: RealArray,
    linear: ComplexArray,
    multipliers: RealArray,
    level: float,
    barrier: float,
    lower: ComplexArray,
) -> float:
    """Return the dual objective with its barrier, -∞ outside; factor M into ``lower``."""
    devices, antennas = rows.shape
    value = level
    for k in range(devices):
        if not 0.0 < multipliers[k] < weights[k]:
            return -math.inf
        value += multipliers[k] + barrier * math.log(multipliers[k])
        if weights[k] < math.inf:
            value += barrier * math.log(weights[k] - multipliers[k])
    total = -linear
    for k in range(devices):
        add_outer(total, rows[k], multipliers[k])
    if not factor_below(total, -level, lower):
        return -math.inf
    for n in range(antennas):
        value -= barrier * math.log(lower[n, n].real)
    return value


@compiled
def _newton(
    rows: ComplexArray,
    weights: RealArray,
    multipliers: RealArray,
    inverse: ComplexArray,
    barrier: float,
    gradient: RealArray,
    hessian: RealArray,
) -> None:
    """Write the gradient and the negative Hessian of the dual with barrier, both over μ."""
    devices, antennas = rows.shape
    products = rows @ inverse.T
    for i in range(devices):
        squared = 0.0
        for n in range(antennas):
            entry = products[i, n]
            squared += entry.real * entry.real + entry.imag * entry.imag
        hessian[i, devices] = squared
        hessian[devices, i] = squared
        for j in range(i + 1):
            overlap = 0j
            for n in range(antennas):
                overlap += rows[i, n].conjugate() * products[j, n]
            entry = overlap.real * overlap.real + overlap.imag * overlap.imag
            hessian[i, j] = entry
            hessian[j, i] = entry
            if i == j:
                gradient[i] = 1.0 / barrier - overlap.real
        gradient[i] += 1.0 / multipliers[i]
        hessian[i, i] += 1.0 / multipliers[i] ** 2
        if weights[i] < math.inf:
            gradient[i] -= 1.0 / (weights[i] - multipliers[i])
            hessian[i, i] += 1.0 / (weights[i] - multipliers[i]) ** 2
    trace = 0.0
    squared = 0.0
    for n in range(antennas):
        trace += inverse[n, n].real
        for m in range(antennas):
            entry = inverse[n, m]
            squared += entry.real * entry.real + entry.imag * entry.imag
    gradient[devices] = 1.0 / barrier - trace
    hessian[devices, devices] = squared


@compiled
def _solve_scaled(hessian: RealArray, gradient: RealArray) -> RealArray:
    """Solve the Newton system with its diagonal scaled to one, for accuracy."""
    scale = 1.0 / np.sqrt(np.diag(hessian))
    matrix = hessian * scale[:, None] * scale[None, :]
    return scale * np.linalg.solve(matrix, scale * gradient)


@compiled
def solve_lifted(
    rows: ComplexArray, weights: RealArray, linear: ComplexArray, gap: float
) -> tuple[int, ComplexArray, float]:
    """Solve the lifted problem.

    Parameters
    ----------
    rows
        (K, N), row k is a_k.
    weights
        (K,) w > 0, infinite for a hard constraint.
    linear
        (N, N) B, Hermitian, 0 ⪯ B ⪯ I.
    gap
        How far from optimal the result may be.

    Returns
    -------
    SOLVED, INFEASIBLE (proven: the dual exceeds every value of the primal) or FAILED; C (N, N),
    of unit trace, feasible if solved; the dual value, a lower bound of the optimum.
    """
    devices, antennas = rows.shape
    lower = np.empty((antennas, antennas), np.complex128)
    inverse = np.empty((antennas, antennas), np.complex128)
    hessian = np.empty((devices + 1, devices + 1))
    gradient = np.empty(devices + 1)
    multipliers = np.empty(devices)
    level = -1.0
    # Strictly feasible: τ lies below -Σ λ_k‖a_k‖², hence below every eigenvalue of the rest.
    for k in range(devices):
        size = 0.0
        for n in range(antennas):
            size += rows[k, n].real ** 2 + rows[k, n].imag ** 2
        multipliers[k] = min(0.5 * weights[k], 1.0 / max(size, 1.0))
        level -= multipliers[k] * size
    most = 1.0 + np.sum(weights[weights < math.inf])
    barrier = 1.0
    value = _barrier(rows, weights, linear, multipliers, level, barrier, lower)
    status = FAILED
    for _ in range(_MAX_STEPS):
        total = np.sum(multipliers)
        if level + total > most + _ROUNDING * (most - level + total):
            status = INFEASIBLE
            break
        invert_factored(lower, inverse)
        _newton(rows, weights, multipliers, inverse, barrier, gradient, hessian)
        direction = _solve_scaled(hessian, gradient)
        decrement = np.dot(gradient, direction)
        last = (antennas + 2 * devices) * barrier <= gap
        if decrement < (_CENTRED_LAST if last else _CENTRED):
            if last:
                status = SOLVED
                break
            barrier *= _SHRINK
            value = _barrier(rows, weights, linear, multipliers, level, barrier, lower)
            continue
        step = longest_step(multipliers, weights, direction, _SHARE)
        improved = -math.inf
        while step > 1e-10:
            trial = multipliers + step * direction[:devices]
            trial_level = level + step * float(direction[devices])
            improved = _barrier(rows, weights, linear, trial, trial_level, barrier, lower)
            if is_sufficient(improved - value, step, barrier * decrement, barrier * _CENTRED):
                break
            step *= 0.5
        if step <= 1e-10:
            break
        multipliers, level, value = trial, trial_level, improved
    trace = 0.0
    for n in range(antennas):
        trace += inverse[n, n].real
    for n in range(antennas):
        for m in range(antennas):
            inverse[n, m] = scaled(inverse[n, m], 1.0 / trace)
    return status, inverse, level + np.sum(multipliers)
