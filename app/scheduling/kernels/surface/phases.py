r"""A reflecting surface: the channels it produces, and two ways to tune its phases.

For a receiver c and weights w both policies raise :math:`f(\mu) = \sum_k w_k|y_k|^2` with

.. math:: y_k = c^H h_k(\mu) = c^H h_k^0 + \sum_m r_{m,k}\,\mu_m, \qquad
    r_{m,k} = (c^H t_m)\,g_{m,k} .

That is :math:`\mu^H Q\mu + 2\Re\{\mu^H a\}` plus a constant, with
:math:`Q = \sum_k w_k \bar r_k r_k^T` and :math:`a = \sum_k w_k \bar r_k\,c^H h_k^0`; but
:math:`Q\mu + a = \sum_k w_k \bar r_k y_k =: z` takes O(MK) and no M × M matrix.

MM
    f is convex in μ: it lies above its tangent, :math:`2\Re\{\mu^H z\}` plus a constant. All
    elements move to the phases of their :math:`z_m` at once.
BCD
    One element at a time, with :math:`z_m - \mu_m\sum_k w_k|r_{m,k}|^2`, its own term left out: the
    exact maximum over :math:`\mu_m`, after which y is updated.

With a grid of phases, both take the allowed phase closest to that of :math:`z_m`, which is the best
one for the same function: f never falls, and the phases are always on the grid.

Real and imaginary parts are separate arrays, and the inner loop runs over the last axis, so that it
vectorises. For this G is kept both ways.
"""

import math
from typing import NamedTuple

import numpy as np

from app.scheduling.kernels.compile import compiled
from app.scheduling.types import ComplexArray, IndexArray, RealArray

MM, BCD = 0, 1
"""The policies, as :func:`update_phases` takes them."""

CONVERGED = 1e-3
"""A policy stops after a step that raises f by less than this share."""

MAX_STEPS = 50
"""Limit on steps; for BCD, on sweeps over all elements."""

_VANISHING = 1e-280
"""A smaller |z_m|² does not determine a phase: the element stays as it is."""


class Surface(NamedTuple):
    """The channels and the allowed phases.

    ``direct_real``, ``direct_imag`` (N, K); ``to_server`` (N, M) complex; ``to_surface_real``,
    ``to_surface_imag`` (M, K), and the same as ``by_device_real``, ``by_device_imag`` (K, M);
    ``order`` (M,), in which elements are visited; ``levels`` of a phase, 0 if continuous.
    """

    direct_real: RealArray
    direct_imag: RealArray
    to_server: ComplexArray
    to_surface_real: RealArray
    to_surface_imag: RealArray
    by_device_real: RealArray
    by_device_imag: RealArray
    order: IndexArray
    levels: int


class Responses(NamedTuple):
    """What a receiver hears.

    ``real``, ``imag`` (K,) of y; ``through`` (M,) complex, cᴴt_m; ``reflected_real``,
    ``reflected_imag`` (M, K) of r.
    """

    real: RealArray
    imag: RealArray
    through: ComplexArray
    reflected_real: RealArray
    reflected_imag: RealArray


@compiled
def response_space(surface: Surface) -> Responses:
    """Return work space for this surface."""
    elements, devices = surface.to_surface_real.shape
    return Responses(
        np.empty(devices),
        np.empty(devices),
        np.empty(elements, np.complex128),
        np.empty((elements, devices)),
        np.empty((elements, devices)),
    )


@compiled
def tuned_channels(surface: Surface, phases: ComplexArray) -> ComplexArray:
    """Return H(μ) (N, K) = H⁰ + T diag(μ) G."""
    antennas, devices = surface.direct_real.shape
    real, imag = surface.direct_real.copy(), surface.direct_imag.copy()
    to_real, to_imag = surface.to_surface_real, surface.to_surface_imag
    for m in surface.order:
        for n in range(antennas):
            factor = surface.to_server[n, m] * phases[m]
            first, second = factor.real, factor.imag
            for k in range(devices):
                real[n, k] += first * to_real[m, k] - second * to_imag[m, k]
                imag[n, k] += first * to_imag[m, k] + second * to_real[m, k]
    channels = np.empty((antennas, devices), np.complex128)
    for n in range(antennas):
        for k in range(devices):
            channels[n, k] = complex(real[n, k], imag[n, k])
    return channels


@compiled
def allowed_phase(value: complex, levels: int) -> complex:
    """Return the allowed phase closest to that of a nonzero ``value``."""
    if levels == 0:
        magnitude = math.sqrt(value.real * value.real + value.imag * value.imag)
        return complex(value.real / magnitude, value.imag / magnitude)
    step = 2.0 * math.pi / levels
    angle = step * round(math.atan2(value.imag, value.real) / step)
    return complex(math.cos(angle), math.sin(angle))


@compiled
def respond(
    surface: Surface, receiver: ComplexArray, phases: ComplexArray, responses: Responses
) -> None:
    """Write all of ``responses`` for this receiver (N,) and these phases (M,)."""
    real, imag, through, reflected_real, reflected_imag = responses
    to_real, to_imag = surface.to_surface_real, surface.to_surface_imag
    antennas, devices = surface.direct_real.shape
    for k in range(devices):
        real[k] = 0.0
        imag[k] = 0.0
    for n in range(antennas):
        first, second = receiver[n].real, receiver[n].imag
        for k in range(devices):
            real[k] += first * surface.direct_real[n, k] + second * surface.direct_imag[n, k]
            imag[k] += first * surface.direct_imag[n, k] - second * surface.direct_real[n, k]
    for m in surface.order:
        total = 0j
        for n in range(antennas):
            total += receiver[n].conjugate() * surface.to_server[n, m]
        through[m] = total
        first, second = total.real, total.imag
        for k in range(devices):
            reflected_real[m, k] = first * to_real[m, k] - second * to_imag[m, k]
            reflected_imag[m, k] = first * to_imag[m, k] + second * to_real[m, k]
        turn(responses, m, phases[m])


@compiled
def turn(responses: Responses, m: int, change: complex) -> None:
    """Update y for a ``change`` of μ_m."""
    real, imag, _, reflected_real, reflected_imag = responses
    first, second = change.real, change.imag
    for k in range(real.shape[0]):
        real[k] += first * reflected_real[m, k] - second * reflected_imag[m, k]
        imag[k] += first * reflected_imag[m, k] + second * reflected_real[m, k]


@compiled
def slope(responses: Responses, m: int, weights: RealArray) -> complex:
    """Return z_m = Σ_k w_k r̄_{m,k} y_k of one element."""
    real, imag, _, reflected_real, reflected_imag = responses
    first = second = third = fourth = 0.0
    for k in range(real.shape[0]):
        weighted_real, weighted_imag = weights[k] * real[k], weights[k] * imag[k]
        first += reflected_real[m, k] * weighted_real
        second += reflected_imag[m, k] * weighted_imag
        third += reflected_real[m, k] * weighted_imag
        fourth += reflected_imag[m, k] * weighted_real
    return complex(first + second, third - fourth)


@compiled
def slopes(surface: Surface, responses: Responses, weights: RealArray) -> ComplexArray:
    """Return z (M,) of all elements, as the conjugate of cᴴt_m times Σ_k w_k ḡ_{m,k} y_k."""
    devices, elements = surface.by_device_real.shape
    to_real, to_imag = surface.by_device_real, surface.by_device_imag
    real, imag = np.zeros(elements), np.zeros(elements)
    for k in range(devices):
        if weights[k] != 0.0:
            first, second = weights[k] * responses.real[k], weights[k] * responses.imag[k]
            for m in range(elements):
                real[m] += to_real[k, m] * first + to_imag[k, m] * second
                imag[m] += to_real[k, m] * second - to_imag[k, m] * first
    result = np.empty(elements, np.complex128)
    for m in range(elements):
        result[m] = responses.through[m].conjugate() * complex(real[m], imag[m])
    return result


@compiled
def objective(responses: Responses, weights: RealArray) -> float:
    """Return f = Σ_k w_k|y_k|²."""
    total = 0.0
    for k in range(weights.shape[0]):
        total += weights[k] * (responses.real[k] ** 2 + responses.imag[k] ** 2)
    return total


@compiled
def aim(
    surface: Surface, m: int, value: complex, phases: ComplexArray, responses: Responses
) -> bool:
    """Turn element m to the allowed phase closest to that of ``value``; return whether it moved."""
    if value.real * value.real + value.imag * value.imag <= _VANISHING:
        return False
    best = allowed_phase(value, surface.levels)
    if best == phases[m]:
        return False
    turn(responses, m, best - phases[m])
    phases[m] = best
    return True


@compiled
def mm_step(
    surface: Surface, weights: RealArray, phases: ComplexArray, responses: Responses
) -> bool:
    """Turn every element to the phase of its slope, all at once; return whether any moved."""
    moved = False
    values = slopes(surface, responses, weights)
    for m in surface.order:
        if aim(surface, m, values[m], phases, responses):
            moved = True
    return moved


@compiled
def bcd_sweep(
    surface: Surface, weights: RealArray, phases: ComplexArray, responses: Responses
) -> bool:
    """Turn one element after the other to its best phase; return whether any moved."""
    moved = False
    reflected_real, reflected_imag = responses.reflected_real, responses.reflected_imag
    for m in surface.order:
        own = 0.0
        for k in range(weights.shape[0]):
            own += weights[k] * (reflected_real[m, k] ** 2 + reflected_imag[m, k] ** 2)
        value = slope(responses, m, weights) - own * phases[m]
        if aim(surface, m, value, phases, responses):
            moved = True
    return moved


@compiled
def update_phases(
    policy: int,
    surface: Surface,
    weights: RealArray,
    receiver: ComplexArray,
    phases: ComplexArray,
    responses: Responses,
) -> tuple[float, bool]:
    """Raise f(μ) for this receiver by a policy, from ``phases`` (M,), which it replaces.

    Returns
    -------
    f, and whether any phase moved.
    """
    respond(surface, receiver, phases, responses)
    value = objective(responses, weights)
    moved = False
    for _ in range(MAX_STEPS):
        if policy == MM:
            stepped = mm_step(surface, weights, phases, responses)
        else:
            stepped = bcd_sweep(surface, weights, phases, responses)
        moved = moved or stepped
        previous, value = value, objective(responses, weights)
        if not stepped or value - previous <= CONVERGED * value:
            break
    return value, moved
