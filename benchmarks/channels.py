"""Channels for the benchmarks."""

import numpy as np

from app.scheduling import Problem
from app.scheduling.types import ComplexArray


def iid_channels(rng: np.random.Generator, antennas: int, devices: int) -> ComplexArray:
    """Return independent CN(0, 1) entries, (N, K)."""
    shape = (antennas, devices)
    entries = rng.standard_normal((2, *shape)) / np.sqrt(2)
    return np.asarray(entries[0] + 1j * entries[1])


def iid_problems(
    count: int, antennas: int, devices: int, gamma_db: float, seed: int = 0
) -> list[Problem]:
    """Return ``count`` problems with unit weights, the same ones at every call."""
    rng = np.random.default_rng(seed)
    return [
        Problem(iid_channels(rng, antennas, devices), np.ones(devices), 10 ** (gamma_db / 10))
        for _ in range(count)
    ]
