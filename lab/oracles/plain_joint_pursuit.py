"""Algorithm 2 the plain way: a full SVD for the receiver, the matrix Q for the phases.

Written from the paper's formulas, independently of the kernels: the reference that the tests check
them against and the benchmarks compare their speed with.
"""

import numpy as np
from numpy.typing import NDArray

from lab.oracles.plain_pursuit import first_receiver, largest, principal, violations

CONVERGED = 1e-3
MAX_STEPS = 50
MAX_ALTERNATIONS = 100

Complex = NDArray[np.complex128]
Real = NDArray[np.float64]


def allowed(values: Complex, previous: Complex, levels: int) -> Complex:
    """Phases of ``values``, the closest of ``levels`` if any; ``previous`` where there is none."""
    angles = np.angle(values)
    if levels:
        angles = np.round(angles * levels / (2 * np.pi)) * 2 * np.pi / levels
    return np.where(np.abs(values) > 1e-140, np.exp(1j * angles), previous)


def quadratic_form(
    direct: Complex, to_server: Complex, to_surface: Complex, weights: Real, c: Complex
) -> tuple[Complex, Complex, float]:
    """Q, a and the constant of Σ_k w_k|h_k(μ)ᴴc|² = μᴴQμ + 2Re{μᴴa} + constant."""
    through = (to_server.conj().T @ c)[:, None] * to_surface.conj()  # column k: diag(g_k)ᴴTᴴc
    offsets = c.conj() @ direct
    return (
        (through * weights) @ through.conj().T,
        (through * weights) @ offsets,
        float(weights @ np.abs(offsets) ** 2),
    )


def value(form: tuple[Complex, Complex, float], phases: Complex) -> float:
    """Return Σ_k w_k|h_k(μ)ᴴc|² for these phases μ."""
    matrix, linear, constant = form
    return float((phases.conj() @ (matrix @ phases + 2 * linear)).real) + constant


def tune(
    form: tuple[Complex, Complex, float],
    phases: Complex,
    policy: str,
    levels: int,
    order: list[int],
) -> Complex:
    """Take steps of a policy until one raises the objective by less than a thousandth."""
    matrix, linear, _ = form
    current = value(form, phases)
    for _ in range(MAX_STEPS):
        before = phases
        if policy == "mm":
            phases = allowed(matrix @ phases + linear, phases, levels)
        else:
            phases = phases.copy()
            for m in order:
                slope = matrix[m] @ phases - matrix[m, m] * phases[m] + linear[m]
                phases[m : m + 1] = allowed(np.array([slope]), phases[m : m + 1], levels)
        previous, current = current, value(form, phases)
        if np.array_equal(before, phases) or current - previous <= CONVERGED * current:
            break
    return phases


def backward(
    direct: Complex,
    to_server: Complex,
    to_surface: Complex,
    required: Real,
    delta: float,
    policy: str = "mm",
    levels: int = 0,
    start: Complex | None = None,
) -> tuple[Complex, NDArray[np.bool_], Complex, int]:
    """Algorithm 2; returns the receiver, the scheduled devices, the phases and the iterations."""
    devices = direct.shape[1]
    strengths = np.linalg.norm(to_server, axis=0) * np.linalg.norm(to_surface, axis=1)
    order = np.argsort(-strengths, kind="stable").tolist()
    phases = np.ones(to_server.shape[1], complex) if start is None else start
    channels = direct + (to_server * phases) @ to_surface
    remaining = np.ones(devices, bool)
    weights = np.ones(devices)
    c = first_receiver(channels)
    iterations = 0
    while remaining.any():
        iterations += 1
        previous = 0.0
        for _ in range(MAX_ALTERNATIONS):
            c = principal(channels * np.sqrt(weights), c)
            form = quadratic_form(direct, to_server, to_surface, weights, c)
            before = phases
            phases = tune(form, phases, policy, levels, order)
            channels = direct + (to_server * phases) @ to_surface
            current = value(form, phases)
            if np.array_equal(before, phases) or current - previous <= CONVERGED * current:
                break
            previous = current
        violation = violations(channels, required, c)
        if (violation[remaining] <= 0).all():
            return c, remaining, phases, iterations
        remaining[largest(np.where(remaining, violation, -np.inf), required)] = False
        weights = np.where(remaining, np.where(violation > 0, delta, 1 - delta), 0)
    return c, remaining, phases, iterations
