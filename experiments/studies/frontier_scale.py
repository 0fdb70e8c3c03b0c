"""The frontier for many devices: how many its points serve, beside dual pursuit there.

At several of its points dual pursuit is asked at the point's own tolerance. The mean level is that
of log₁₀ γ over all points, in decibels: less is better. To compare with an earlier revision, run
the same in a checkout of it: the channels are the same.
"""

import time

import numpy as np

from airsched_client.federated.statistics import mean_difference, mean_of
from app.scheduling import SCHEDULERS, Problem, SolveSpec, find_frontier, solve
from app.scheduling.problem import LARGEST
from app.warmup import warm_up
from lab.problems import ChannelModel, problems_of

# The climbs were chosen on seed 6100.
SEED = 30502
CASES: tuple[tuple[ChannelModel, int, int, int], ...] = (
    ("iid", 16, 100, 8),
    ("network", 16, 100, 8),
    ("iid", 16, 200, 6),
    ("iid", 32, 400, 3),
)
"""Channels, N, K, and how many channels."""

SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)
"""Points at which dual pursuit is asked: those with about so many of all devices."""

DUAL = SCHEDULERS["dual_pursuit"]


def main() -> None:
    """Print one line per case, as it is measured."""
    warm_up("anytime")
    print(f"points with {', '.join(f'{share:g}' for share in SHARES)} of all devices")
    for model, antennas, devices, count in CASES:
        found = [
            _measured(problem, seed)
            for seed, problem in enumerate(problems_of(model, count, antennas, devices, 0.0, SEED))
        ]
        own, dual = (np.array([each[place] for each in found]) for place in (0, 1))
        ahead = (
            mean_difference(own[:, place].tolist(), dual[:, place].tolist()).text(1, sign=True)
            for place in range(len(SHARES))
        )
        level = mean_of([each[2] for each in found]).text(2)
        seconds = np.median([each[3] for each in found])
        print(
            f"{model:7} {antennas:2d}×{devices:<4d}: devices − dual pursuit's {', '.join(ahead)}; "
            f"mean level {level} dB; {1e3 * seconds:.0f} ms",
            flush=True,
        )


def _measured(problem: Problem, seed: int) -> tuple[list[int], list[int], float, float]:
    """Return the sizes of points, those of dual pursuit, the mean level, and seconds."""
    begun = time.thread_time()
    spec = SolveSpec(DUAL, DUAL.parameters(), seed=seed)
    points = find_frontier(problem.with_gamma(LARGEST), spec).points
    seconds = time.thread_time() - begun
    sizes = np.array([point.schedule.active.size for point in points])
    # Levels at every number of devices, so that revisions with other points can be compared.
    levels = [10 * np.log10(point.gamma) for point in points]
    numbers = np.arange(1, problem.devices + 1)
    level = float(np.mean(np.array(levels)[np.searchsorted(sizes, numbers)]))
    own, dual = [], []
    for share in SHARES:
        place = int(np.searchsorted(sizes, share * problem.devices))
        own.append(int(sizes[place]))
        alone = solve(problem.with_gamma(points[place].gamma), "dual_pursuit", seed=seed)
        dual.append(int(alone.active.size))
    return own, dual, level, seconds
