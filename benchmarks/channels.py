"""Channels for the benchmarks."""

import numpy as np

from airsched_client.federated.channels import Network, NetworkParameters
from airsched_client.federated.partition import (
    PartitionParameters,
    aggregation_weights,
    data_sizes,
)
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


def network_problems(count: int, gamma_db: float, seed: int = 0) -> list[Problem]:
    """Return ``count`` rounds of the paper's network, K = 20, N = 6, the same at every call.

    Each has its own places, fading and data sizes; weights have mean one.
    """
    problems = []
    for index in range(count):
        rng = np.random.default_rng([seed, index])
        channels = Network(NetworkParameters(), rng).fade(rng).direct
        weights = aggregation_weights(data_sizes(50_000, 20, PartitionParameters(), rng))
        problems.append(Problem(channels, weights, 10 ** (gamma_db / 10)))
    return problems
