"""Channels that are slow to schedule: how close their solves come to the estimate of the longest.

Of any size that may run on the event loop by that estimate.
"""

import time
from typing import Any

import numpy as np

from app.execution.executor import LOOP_SECONDS
from app.scheduling import SCHEDULERS, Problem, SolveSpec, solve_specified
from app.scheduling.types import ComplexArray
from lab.channels import iid_channels, random_unitary

REPEATS = 5
"""The least of these times counts: the others were interrupted."""


def slowest(algorithm: str, seconds: float, seed: int) -> tuple[int, float, float]:
    """Return how many were solved, the longest in ms, and the largest share of an estimate."""
    rng = np.random.default_rng(seed)
    count, longest, share = 0, 0.0, 0.0
    over = time.monotonic() + seconds
    scheduler = SCHEDULERS[algorithm]
    while time.monotonic() < over:
        antennas, devices = int(2 ** rng.uniform(0, 7)), int(2 ** rng.uniform(0, 9))
        parameters = scheduler.parameters(**_parameters(rng, algorithm))
        estimate = scheduler.longest_seconds(parameters, antennas, devices)
        if estimate > LOOP_SECONDS:
            continue
        problem = _problem(rng, antennas, devices)
        warm_start = iid_channels(rng, antennas, 1)[:, 0] if rng.random() < 0.3 else None
        spec = SolveSpec(
            scheduler, parameters, seed=int(rng.integers(2**40)), warm_start=warm_start
        )
        taken = min(_seconds(problem, spec) for _ in range(REPEATS))
        count, longest, share = count + 1, max(longest, taken), max(share, taken / estimate)
    return count, longest * 1e3, share


def _seconds(problem: Problem, spec: SolveSpec) -> float:
    started = time.perf_counter()
    solve_specified(problem, spec)
    return time.perf_counter() - started


def _parameters(rng: np.random.Generator, algorithm: str) -> dict[str, Any]:
    if algorithm == "dual_pursuit":
        return {"starts": int(rng.choice([1, 2, 5, 10]))}
    searches = ["backward", "forward", "bidirectional"]
    return {"delta": rng.choice([0.05, 0.3, 0.55, 0.9, 0.99]), "search": str(rng.choice(searches))}


def _problem(rng: np.random.Generator, antennas: int, devices: int) -> Problem:
    """Return a problem in which some devices can be served alone, and often not all at once."""
    channels = _channels(rng, antennas, devices)
    weights = np.ones(devices) if rng.random() < 0.5 else 10 ** rng.uniform(-1, 1, devices)
    priorities = None
    if rng.random() < 0.5:
        priorities = 10 ** rng.uniform(0, rng.choice([0.1, 1, 3, 6]), devices)
    alone = weights**2 / np.maximum(1e-12, (np.abs(channels) ** 2).sum(axis=0))
    gamma = float(rng.choice(alone) * 10 ** rng.uniform(0, 2))
    return Problem(channels, weights, gamma=min(gamma, 1e9), priorities=priorities)


def _channels(rng: np.random.Generator, antennas: int, devices: int) -> ComplexArray:
    channels = iid_channels(rng, antennas, devices)
    noise = 10 ** rng.uniform(-3, 0) * channels
    common = iid_channels(rng, antennas, 3)
    larger = max(antennas, devices)
    match rng.integers(6):
        case 0:  # far and near
            return np.asarray(channels * 10 ** rng.uniform(-1.5, 1.5, devices))
        case 1:  # almost one direction
            return np.asarray(common[:, :1] @ iid_channels(rng, 1, devices) + noise)
        case 2:  # three clusters
            return np.asarray(common[:, rng.integers(0, 3, devices)] + noise)
        case 3:  # orthogonal: repeated singular values
            return np.asarray(random_unitary(rng, larger)[:antennas, :devices] * antennas**0.5)
        case 4:  # line of sight
            angles = rng.uniform(-1, 1, devices)
            return np.asarray(np.exp(1j * np.pi * np.outer(np.arange(antennas), angles)))
        case _:
            return channels
