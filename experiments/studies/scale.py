"""Dual pursuit for many devices: how many it serves, and in what time; plain, and with 100 starts.

The constants of its soft starts were chosen on seeds 5000 to 5800, and those of its plain starts on
those that :mod:`app.scheduling.kernels.dual.search` lists; these channels are others. To compare
with an earlier revision, run the same in a checkout of it: the channels are the same.
"""

import time

import numpy as np

from airsched_client.federated.statistics import mean_of
from app.scheduling.problem import Problem
from app.scheduling.pursuit import STARTS, pursue
from app.scheduling.scheduler import Context
from lab.problems import iid_problems, network_problems

SEED = 97103
CASES = (
    (iid_problems, 6, 20, -4.0, 60),
    (iid_problems, 6, 20, -1.0, 60),
    (network_problems, 6, 20, 11.0, 60),
    (iid_problems, 6, 30, -1.0, 60),
    (iid_problems, 6, 40, 0.0, 60),
    (iid_problems, 6, 60, 0.0, 60),
    (iid_problems, 6, 100, 4.0, 40),
    (iid_problems, 16, 100, -3.0, 40),
    (network_problems, 16, 100, 8.0, 40),
    (iid_problems, 16, 125, 0.0, 20),
    (iid_problems, 16, 126, 0.0, 20),
    (iid_problems, 16, 200, -3.0, 20),
    (iid_problems, 16, 313, 0.0, 10),
    (iid_problems, 32, 400, 0.0, 10),
    (iid_problems, 64, 1000, 0.0, 4),
)
"""The kind of channels, N, K, γ in decibels, and how many channels."""

MANY_STARTS = 100


def run(problem: Problem, seed: int, starts: int) -> tuple[int, float]:
    """Return how many devices are served, and the processor seconds of the search."""
    begun = time.thread_time()
    receiver, _, _ = pursue(problem, Context(seed), starts)
    elapsed = time.thread_time() - begun
    return int(problem.served(receiver).sum()), elapsed


def main() -> None:
    """Print one line per case, as it is measured."""
    run(iid_problems(1, 6, 60, 0.0, 1)[0], 0, STARTS)
    print(f"devices, ms; {MANY_STARTS} starts; paired difference in % of those ± standard error")
    for make, antennas, devices, decibels, count in CASES:
        problems = make(count, antennas, devices, decibels, SEED)
        default = [run(problem, seed, STARTS) for seed, problem in enumerate(problems)]
        many = [run(problem, seed, MANY_STARTS) for seed, problem in enumerate(problems)]
        sizes, reference = (np.array([size for size, _ in found]) for found in (default, many))
        share = 100 * (sizes - reference) / reference.mean()
        kind = "iid" if make is iid_problems else "network"
        print(
            f"{kind:7} {antennas:2d}×{devices:<4d} {decibels:3.0f} dB: {sizes.mean():7.2f}, "
            f"{1e3 * np.median([elapsed for _, elapsed in default]):6.2f}; "
            f"{reference.mean():7.2f}; {mean_of(share).text(2, sign=True)} %",
            flush=True,
        )
