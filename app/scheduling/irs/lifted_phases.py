r"""The lifted problem of the phases, for a fixed receiver: V in place of :math:`vv^H`.

With :math:`v = (\mu, 1)` a device's response is :math:`y_k = f_k^H v`. Relative to what it needs,
it is served when :math:`|y_k|^2 \ge 1`. With V for :math:`vv^H`, and slacks s, the programme is

.. math:: \min_{V \succeq 0,\ s \ge 0} \langle B, V\rangle + \sum_k w_k s_k
    \quad\text{s.t.}\quad V_{mm} = 1,\quad 1 - f_k^H V f_k \le s_k .

Its dual has M + 1 + K variables,

.. math:: \max_{\tau,\ 0\le\lambda\le w} \sum_m\tau_m + \sum_k\lambda_k
    \quad\text{s.t.}\quad Z = B - \operatorname{diag}(\tau) - \sum_k\lambda_k f_k f_k^H \succeq 0,

and is solved like that of the receiver in :mod:`app.scheduling.kernels.lifted.solver`:
Newton's method follows the maxima with a logarithmic barrier of decreasing weight β, where
:math:`V = \beta Z^{-1}`. All constraints have rank one, :math:`\langle a_i a_i^H, V\rangle`, so the
Hessian consists of the :math:`|a_i^H Z^{-1} a_j|^2`.

Cost: O((M + K)³) per step, 30 to 60 steps.
"""

import numpy as np

from app.scheduling.kernels.linalg.newton import is_sufficient
from app.scheduling.types import ComplexArray, RealArray

GAP = 1e-3
"""How far from optimal a solution may be; a device with no gain at all counts as one."""

_SHRINK = 0.1
_MAX_STEPS = 200
_CENTRED = 0.25
_CENTRED_LAST = 1e-8


def lifted_phases(
    rows: ComplexArray, weights: RealArray, near: ComplexArray
) -> ComplexArray | None:
    r"""Minimise the weighted slacks plus :math:`1 - v^HVv/\|v\|^4` to stay ``near`` a vector v.

    The latter linearises, at ``near``, a term that is zero where V has rank one.

    Parameters
    ----------
    rows
        (K, M + 1), row k is f_k.
    weights
        (K,) w > 0.
    near
        (M + 1,) of unit modulus.

    Returns
    -------
    V (M + 1, M + 1), or None if it was not found.
    """
    devices, size = rows.shape
    identity: ComplexArray = np.eye(size, dtype=np.complex128)
    vectors: ComplexArray = np.concatenate((identity, rows))
    linear: ComplexArray = (identity - np.outer(near, near.conj()) / size) / size
    bounds = np.concatenate((np.full(size, np.inf), weights))
    # Strictly feasible: τ is below anything the multipliers can subtract.
    multipliers = np.minimum(0.5 * weights, 1.0 / np.maximum(np.sum(np.abs(rows) ** 2, axis=1), 1))
    taken = float(np.sum(multipliers * np.sum(np.abs(rows) ** 2, axis=1)))
    point = np.concatenate((np.full(size, -1.0 - taken), multipliers))
    barrier = 1.0
    value = _barrier(vectors, linear, bounds, point, barrier)
    for _ in range(_MAX_STEPS):
        inverse = np.linalg.inv(_matrix(vectors, linear, point)).astype(np.complex128, copy=False)
        gradient, hessian = _derivatives(vectors, bounds, point, inverse, barrier)
        scale = 1.0 / np.sqrt(np.diag(hessian))
        scaled = hessian * np.outer(scale, scale)
        try:
            direction = scale * np.linalg.solve(scaled, scale * gradient)
        except np.linalg.LinAlgError:
            return None
        decrement = float(gradient @ direction)
        last = (size + 2 * devices) * barrier <= GAP
        if decrement < (_CENTRED_LAST if last else _CENTRED):
            if last:
                return barrier * inverse
            barrier *= _SHRINK
            value = _barrier(vectors, linear, bounds, point, barrier)
            continue
        step = 1.0
        while True:
            trial = point + step * direction
            improved = _barrier(vectors, linear, bounds, trial, barrier)
            if is_sufficient(improved - value, step, barrier * decrement, barrier * _CENTRED):
                break
            step *= 0.5
            if step < 1e-10:
                return None
        point, value = trial, improved
    return None


def _matrix(vectors: ComplexArray, linear: ComplexArray, point: RealArray) -> ComplexArray:
    """Return Z."""
    return linear - (vectors.T * point) @ vectors.conj()


def _barrier(
    vectors: ComplexArray,
    linear: ComplexArray,
    bounds: RealArray,
    point: RealArray,
    barrier: float,
) -> float:
    """Return the dual objective with its barrier, -∞ outside."""
    bounded = np.isfinite(bounds)
    below, above = point[bounded], (bounds - point)[bounded]
    if not ((below > 0).all() and (above > 0).all()):
        return -np.inf
    try:
        factor = np.linalg.cholesky(_matrix(vectors, linear, point))
    except np.linalg.LinAlgError:
        return -np.inf
    logs = 2 * np.log(np.diag(factor).real).sum() + np.log(below).sum() + np.log(above).sum()
    return float(point.sum() + barrier * logs)


def _derivatives(
    vectors: ComplexArray,
    bounds: RealArray,
    point: RealArray,
    inverse: ComplexArray,
    barrier: float,
) -> tuple[RealArray, RealArray]:
    """Return the gradient and the negative Hessian of the dual with barrier, both over β."""
    products = vectors.conj() @ inverse @ vectors.T
    gradient = 1.0 / barrier - np.diag(products).real
    hessian = np.abs(products) ** 2
    bounded = np.flatnonzero(np.isfinite(bounds))
    below, above = point[bounded], (bounds - point)[bounded]
    gradient[bounded] += 1.0 / below - 1.0 / above
    hessian[bounded, bounded] += 1.0 / below**2 + 1.0 / above**2
    return gradient, hessian
