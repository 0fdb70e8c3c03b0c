"""The least error of every set of a few devices, by multicast beamforming from many starts."""

from itertools import combinations

import numpy as np

from app.scheduling.kernels.dual.least_norm import best_of_starts
from app.scheduling.kernels.dual.sweeps import scaled_rows
from app.scheduling.types import ComplexArray, RealArray

STARTS, TOLERANCE, VISITS_PER_DEVICE = 10, 1e-4, 2_000


def errors_of_all_sets(
    channels: ComplexArray, weights: RealArray, rng: np.random.Generator
) -> dict[tuple[int, ...], float]:
    """Return min_c max_k φ_k²‖c‖²/|h_kᴴc|² of each nonempty set; the error where σ² = P = 1.

    Each is reached by a receiver, and almost always the least: the starts are random combinations
    of the set's channels.
    """
    rows = scaled_rows(channels, weights)
    devices = weights.size
    directions = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    errors = {}
    for size in range(1, devices + 1):
        for members in combinations(range(devices), size):
            mix = rng.standard_normal((STARTS, size)) + 1j * rng.standard_normal((STARTS, size))
            starts = mix @ directions[list(members)]
            level = best_of_starts(
                rows[list(members)], starts, np.inf, TOLERANCE, VISITS_PER_DEVICE * size
            )[1]
            errors[members] = level**-2
    return errors
