"""Majorisation–minimisation after Kim, Swindlehurst and Park (2023).

M. Kim, A. L. Swindlehurst and D. Park, *Beamforming Vector Design and Device Selection in
Over-the-Air Federated Learning*, IEEE Transactions on Wireless Communications 22(11), 2023,
doi:10.1109/TWC.2023.3251339.

The most devices under a given error is the most users of a multicast downlink under a given power:
with g_k = h_k/φ_k, device k is served by m, ‖m‖² ≤ γ, if |g_kᴴm|² ≥ 1. What is minimised instead of
the number of devices that are not served is

    F(m) = Σ_k max(0, 1 − |g_kᴴm|²)   over ‖m‖² ≤ γ.

|g_kᴴm|² is convex, so its tangent at the last m lies below it, and F with tangents is a convex
function above F that equals it there. Minimising one after the other never raises F. A convex
function is minimised by **projected subgradients**, or **exactly**, through its dual

    max over 0 ≤ λ ≤ 1 of  Σ_k λ_k (1 + |a_k|²) − 2√γ ‖Σ_k λ_k a_k g_k‖,   a_k = g_kᴴm_last.

Assumed, as only the paper's abstract was at hand: the start is the principal singular vector of all
g_k; step t of the subgradients is 1/(5√t) of the radius along the normalised subgradient, with the
best point kept, both chosen on channels at 0 dB with published levels in sight, so that the
agreement there is no evidence; iterations end when F falls by less than a thousandth of itself. At
a minimum some devices are served exactly, and rounding decides whether they count. So the point of
all iterations and steps that serves the most devices is returned, which favours the method.
"""

from typing import Literal

import numpy as np
from numba import njit
from scipy.optimize import minimize  # type: ignore[import-untyped]

from app.scheduling import Problem
from app.scheduling.types import ComplexArray, RealArray
from lab.rivals.multicast import least_norm_beyond

Inner = Literal["subgradient", "exact"]
MAX_ITERATIONS, STEPS, TOLERANCE = 50, 100, 1e-3
REFERENCE = (
    "Kim, Swindlehurst and Park (2023), "
    "[doi:10.1109/TWC.2023.3251339](https://doi.org/10.1109/TWC.2023.3251339)"
)
"""The paper, as Markdown."""


def served(problem: Problem, inner: Inner = "subgradient") -> int:
    """Return how many devices the receiver found serves."""
    receiver = find_receiver(problem, inner)
    return int(np.count_nonzero(problem.served(receiver)))


def find_receiver(problem: Problem, inner: Inner = "subgradient") -> ComplexArray:
    """Return the receiver, of unit norm."""
    scaled = problem.channels / problem.weights
    radius = np.sqrt(problem.gamma)
    start = radius * np.linalg.svd(scaled, full_matrices=False)[0][:, 0]
    if inner == "subgradient":
        point = _by_subgradients(np.ascontiguousarray(scaled.T), start, radius)
    else:
        points = descend(scaled, start, radius)
        point = max(points, key=lambda each: np.count_nonzero(np.abs(scaled.conj().T @ each) >= 1))
    return np.asarray(point / np.linalg.norm(point))


def violation(scaled: ComplexArray, point: ComplexArray) -> float:
    """Return F."""
    return float(np.maximum(0, 1 - np.abs(scaled.conj().T @ point) ** 2).sum())


def descend(scaled: ComplexArray, start: ComplexArray, radius: float) -> list[ComplexArray]:
    """Return the points of the exact method, from the start on."""
    points = [start]
    for _ in range(MAX_ITERATIONS):
        last = points[-1]
        point = minimise_majorant(scaled, last, radius)
        points.append(point)
        now, before = violation(scaled, point), violation(scaled, last)
        if before - now <= TOLERANCE * before:
            break
    return points


def minimise_majorant(scaled: ComplexArray, last: ComplexArray, radius: float) -> ComplexArray:
    """Return the minimiser over the ball of F with its tangents at ``last``."""
    gains = scaled.conj().T @ last
    constants = 1 + np.abs(gains) ** 2
    vectors = scaled * gains
    # If all tangents can be met within the ball, the dual is zero and says nothing of the point.
    everybody = least_norm_beyond(vectors, constants / 2)
    if np.linalg.norm(everybody) <= radius:
        return everybody

    def negative_dual(multipliers: RealArray) -> tuple[float, RealArray]:
        total = vectors @ multipliers
        size = float(np.linalg.norm(total))
        slope = (vectors.conj().T @ total).real / max(size, 1e-12)
        return float(2 * radius * size - constants @ multipliers), 2 * radius * slope - constants

    found = minimize(
        negative_dual, np.full(gains.size, 0.5), jac=True, bounds=[(0, 1)] * gains.size
    )
    total = vectors @ found.x
    size = float(np.linalg.norm(total))
    point = radius * total / size if size > 0 else last
    # The multipliers are exact to a tolerance only: never exchange a point for a worse one.
    return point if violation(scaled, point) <= violation(scaled, last) else last


@njit(cache=True)  # type: ignore[untyped-decorator]
def _by_subgradients(
    scaled: ComplexArray, start: ComplexArray, radius: float
) -> ComplexArray:  # pragma: no cover
    """Return the point that serves the most; ``scaled`` has a row per device."""
    devices, antennas = scaled.shape
    last, chosen, most = start.copy(), start.copy(), -1
    gains = np.empty(devices, np.complex128)
    before = 2.0 * devices
    for _ in range(MAX_ITERATIONS):
        value = 0.0
        for k in range(devices):
            gains[k] = np.vdot(scaled[k], last)
            value += max(0.0, 1 - abs(gains[k]) ** 2)
        if before - value <= TOLERANCE * before:
            break
        before = value
        point, best, least = last.copy(), last.copy(), value
        for step in range(1, STEPS + 1):
            ascent = np.zeros(antennas, np.complex128)
            value, count = 0.0, 0
            for k in range(devices):
                gain = np.vdot(scaled[k], point)
                count += abs(gain) >= 1
                tangent = 1 + abs(gains[k]) ** 2 - 2 * (np.conj(gains[k]) * gain).real
                if tangent > 0:
                    value += tangent
                    for n in range(antennas):
                        ascent[n] += gains[k] * scaled[k, n]
            if count > most:
                most = count
                chosen[:] = point
            if value < least:
                least = value
                best[:] = point
            size = np.linalg.norm(ascent)
            if size == 0:
                break
            point += radius / (5 * np.sqrt(step) * size) * ascent
            norm = np.linalg.norm(point)
            if norm > radius:
                point *= radius / norm
        last[:] = best
    return chosen
