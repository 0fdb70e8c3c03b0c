"""The receiver with the least error for a given set: single-group multicast beamforming.

The least-norm c with |h_kᴴc| ≥ φ_k for all k, by successive convex approximation: with the phases
θ_k of h_kᴴc at the last c, Re(e^{−jθ_k} h_kᴴc) ≥ φ_k implies the constraint and holds there with
equality or better. A least-norm problem with linear constraints is one of non-negative least
squares (Lawson and Hanson, 1974, ch. 23). The norm never rises.
"""

import numpy as np
from scipy.optimize import nnls  # type: ignore[import-untyped]

from app.scheduling.types import ComplexArray, RealArray

MAX_ITERATIONS, TOLERANCE = 100, 1e-4


def least_norm(channels: ComplexArray, weights: RealArray, start: ComplexArray) -> ComplexArray:
    """Return a receiver c with |h_kᴴc| ≥ φ_k of a norm that is locally least."""
    last = _feasible(channels, weights, start)
    for _ in range(MAX_ITERATIONS):
        found = _feasible(channels, weights, _with_phases(channels, weights, last))
        before, now = np.linalg.norm(last), np.linalg.norm(found)
        if now < before:
            last = found
        if now >= (1 - TOLERANCE) * before:
            break
    return last


def _feasible(channels: ComplexArray, weights: RealArray, receiver: ComplexArray) -> ComplexArray:
    """Return the receiver, scaled so that the device with the least gain has just enough."""
    gains = np.abs(channels.conj().T @ receiver) / weights
    return np.asarray(receiver / gains.min()) if gains.min() > 0 else np.asarray(receiver * np.inf)


def _with_phases(channels: ComplexArray, weights: RealArray, last: ComplexArray) -> ComplexArray:
    """Return the least-norm receiver with the phases of the last one."""
    gains = channels.conj().T @ last
    return least_norm_beyond(channels * (gains / np.abs(gains)), weights)


def least_norm_beyond(vectors: ComplexArray, bounds: RealArray) -> ComplexArray:
    """Return the least-norm c with Re(v_kᴴc) ≥ b_k for all k; infinite if there is none."""
    rows = np.concatenate([vectors.real, vectors.imag])
    system = np.vstack([rows, bounds])
    wanted = np.zeros(len(system))
    wanted[-1] = 1.0
    residual = wanted - system @ nnls(system, wanted)[0]
    if residual[-1] <= 0:
        return np.full(len(vectors), np.inf, complex)
    real = -residual[:-1] / residual[-1]
    return np.asarray(real[: len(vectors)] + 1j * real[len(vectors) :])
