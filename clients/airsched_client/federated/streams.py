"""Streams of random numbers, one per purpose: no run depends on draws for another."""

from enum import IntEnum

import numpy as np


class Purpose(IntEnum):
    """What the numbers of a stream are for."""

    NETWORK = 0
    PARTITION = 1
    MODEL = 2
    FADING = 3
    TRAINING = 4
    AIR = 5
    STATISTICS = 6
    HARDWARE = 7


REQUEST_SEEDS = 1_000_000
"""Seeds of the service's own randomness that belong to one seed of ours: one per round."""


def request_seed(seed: int, number: int) -> int:
    """Return the seed to send with the request of a round."""
    return seed * REQUEST_SEEDS + number


def stream(seed: int, purpose: Purpose, *numbers: int) -> np.random.Generator:
    """Return the generator of a seed and a purpose, and of a round or a device where it has one."""
    return np.random.default_rng([seed, int(purpose), *numbers])
