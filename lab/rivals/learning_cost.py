"""The objective of GSDS and RIS-FL: a bound on what a round leaves of the training loss.

    cost(S, c) = 4 (1 − Φ_S/Φ)² + E(S, c) / (w Φ_S²),   E = (σ²/P) max_{k∈S} φ_k² / |h_kᴴc|²

with Φ_S the weight of the scheduled devices and Φ that of all. The first term is what the missing
devices cost, the second what the noise costs; GSDS has w = 2, RIS-FL w = 1. Here σ² = P = 1: the
channels carry the signal-to-noise ratio.
"""

import numpy as np

from app.scheduling import Frontier
from app.scheduling.types import ComplexArray, IndexArray, RealArray


def cost(weights: RealArray, active: IndexArray, error: float, noise_divisor: float = 2.0) -> float:
    """Return the cost of a set with the error E; infinite for an empty one."""
    if not active.size:
        return np.inf
    total = weights[active].sum()
    missing = 1 - total / weights.sum()
    return float(4 * missing**2 + error / (noise_divisor * total**2))


def error_of(
    channels: ComplexArray, weights: RealArray, active: IndexArray, receiver: ComplexArray
) -> float:
    """Return E at σ² = P = 1 for a receiver of any norm."""
    gains = np.abs(channels[:, active].conj().T @ receiver) / np.linalg.norm(receiver)
    if not gains.all():
        return np.inf
    return float(np.max(weights[active] / gains) ** 2)


def best_of_frontier(frontier: Frontier, weights: RealArray, noise_divisor: float = 2.0) -> float:
    """Return the least cost of a frontier's points."""
    costs = [
        cost(weights, point.schedule.active, point.schedule.computation_error, noise_divisor)
        for point in frontier.points
        if point.schedule.computation_error is not None
    ]
    return min(costs, default=np.inf)
