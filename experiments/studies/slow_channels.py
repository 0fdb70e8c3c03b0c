"""Channels that change slowly from round to round: what sending the last receiver is worth.

Each entry of the channels follows H ← ρH + √(1 − ρ²)W, W fresh and of the same strength. Dual
pursuit is asked in every round, with and without ``warm_start``, the receiver that it returned for
the round before. A stable set is one in which few devices join or leave: the change is the number
of devices that do, over the size of the set.
"""

import time
from collections.abc import Callable

import numpy as np

from airsched_client.federated.statistics import mean_difference, mean_of
from app.scheduling import Problem, Schedule, solve
from app.scheduling.schedulers.dual_pursuit import DualPursuitParameters
from app.scheduling.types import ComplexArray
from app.warmup import warm_up
from lab.channels import iid_channels
from lab.problems import ChannelModel, problems_of

SEED = 30506
ROUNDS = 20
CORRELATIONS = (0.0, 0.9, 0.99)
CASES: tuple[tuple[ChannelModel, int, int, float, int], ...] = (
    ("iid", 6, 20, -1.0, 20),
    ("network", 6, 20, 11.0, 20),
    ("iid", 16, 100, -3.0, 10),
    ("network", 16, 100, 8.0, 10),
    ("iid", 32, 400, 0.0, 4),
)
"""Channels, N, K, γ in decibels, and how many series of rounds."""

STARTS = (5, 1)
"""The default effort, and the least."""


def main() -> None:
    """Print one line per case, correlation and effort, as it is measured."""
    warm_up("anytime")
    print("devices without → with; paired difference; change of the set; ms")
    for model, antennas, devices, decibels, count in CASES:
        for correlation in CORRELATIONS:
            for starts in STARTS:
                parameters = DualPursuitParameters(starts)
                found = np.array(
                    [
                        [_series(problem, number, correlation, parameters, warm) for warm in (0, 1)]
                        for number, problem in enumerate(
                            problems_of(model, count, antennas, devices, decibels, SEED)
                        )
                    ]
                )
                (cold, change, ms), (warm, kept, quick) = found.mean(axis=0)
                gain = mean_difference(found[:, 1, 0].tolist(), found[:, 0, 0].tolist())
                calm = mean_of(found[:, 1, 1] - found[:, 0, 1])
                print(
                    f"{model:7} {antennas:2d}×{devices:<3d} ρ = {correlation:4}, {starts} starts: "
                    f"{cold:6.2f} → {warm:6.2f}, {gain.text(2, sign=True)}; "
                    f"{change:.3f} → {kept:.3f}, {calm.text(3, sign=True)}; "
                    f"{ms:.2f} → {quick:.2f}",
                    flush=True,
                )


def _series(
    problem: Problem, number: int, correlation: float, parameters: DualPursuitParameters, warm: int
) -> tuple[float, float, float]:
    """Return the means of the number of devices and of the change, and milliseconds."""
    rng = np.random.default_rng([SEED, number])
    evolve = _evolution(problem.channels, correlation, rng)
    last: Schedule | None = None
    sizes, changes, seconds = [], [], []
    for round_number in range(ROUNDS):
        channels = evolve()
        own = Problem(channels, problem.weights, problem.gamma)
        start = last.receiver if warm and last is not None else None
        begun = time.thread_time()
        found = solve(own, "dual_pursuit", parameters, seed=round_number, warm_start=start)
        if last is not None:
            seconds.append(time.thread_time() - begun)
            sizes.append(found.active.size)
            different = np.setxor1d(found.active, last.active).size
            changes.append(different / max(1, found.active.size))
        last = found
    return float(np.mean(sizes)), float(np.mean(changes)), 1e3 * float(np.median(seconds))


def _evolution(
    first: ComplexArray, correlation: float, rng: np.random.Generator
) -> Callable[[], ComplexArray]:
    """Return a function whose calls return the channels of one round after the other."""
    antennas, devices = first.shape
    # Of network channels the strength differs from device to device, and stays.
    strength = np.linalg.norm(first, axis=0) / np.sqrt(antennas)
    current = first / strength

    def evolve() -> ComplexArray:
        nonlocal current
        fresh = iid_channels(rng, antennas, devices)
        current = correlation * current + np.sqrt(1 - correlation**2) * fresh
        return np.asarray(current * strength)

    return evolve
