"""The compiled matching pursuit against two references, on the same channels.

- A plain loop of full NumPy SVDs, as one would write the paper's Algorithm 1.
- The same compiled loop with ``eigh`` of the updated N×N Gram matrix in place of our eigen kernels:
  what these alone are worth.

All on one thread (``make bench`` sets ``OPENBLAS_NUM_THREADS``): for matrices of this size more
threads make LAPACK slower, not faster.
"""

import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from app.scheduling import Problem
from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.linalg.gram import by_device, reweigh
from app.scheduling.kernels.matching.algorithm_1 import (
    backward_pursuit,
    gains_by_antenna,
    is_served,
    most_violated,
    subset_cutting,
)
from app.scheduling.types import ComplexArray, RealArray
from lab.oracles import plain_pursuit
from lab.problems import iid_problems

# antennas, devices, γ in dB, problems
CASES = [
    (6, 20, 0.0, 400),
    (6, 20, -6.0, 200),
    (6, 20, 5.0, 400),
    (16, 100, 0.0, 40),
    (32, 200, 0.0, 10),
    (64, 1000, 3.0, 1),
]
REPEATS = 5
DELTA = 0.55


@compiled
def eigh_pursuit(channels: ComplexArray, required: RealArray, delta: float) -> int:
    """Return how many devices backward pursuit serves with ``eigh`` in every iteration."""
    antennas, devices = channels.shape
    rows = by_device(channels)
    gram = np.zeros((antennas, antennas), np.complex128)
    weights, new_weights = np.zeros(devices), np.ones(devices)
    gain = np.empty(devices)
    responses = np.empty(devices, np.complex128)
    remaining = np.ones(devices, np.bool_)
    peak = 0.0
    for count in range(devices, 0, -1):
        peak = reweigh(gram, rows, weights, new_weights, peak)
        # It reads only the lower triangle, the only part that is written.
        _, vectors = np.linalg.eigh(gram)
        gains_by_antenna(channels, vectors[:, -1].copy(), responses, gain)
        worst = most_violated(gain, required, remaining)
        if worst < 0:
            return count
        remaining[worst] = False
        for k in range(devices):
            new_weights[k] = 0.0
            if remaining[k]:
                new_weights[k] = subset_cutting(not is_served(gain[k], required[k]), delta)
    return 0


def main() -> None:
    table = Table(
        "K / N",
        "γ [dB]",
        "mean |S|",
        "kernel [µs]",
        "with eigh [µs]",
        "ratio",
        "NumPy SVD [µs]",
        "ratio",
        title="kernel",
    )
    never = np.zeros(1, np.bool_)

    def kernel(problem: Problem) -> int:
        _, active, _ = backward_pursuit(
            problem.channels, problem.required_gains, problem.values, DELTA, False, never
        )
        return int(active.sum())

    def eigh(problem: Problem) -> int:
        return eigh_pursuit(problem.channels, problem.required_gains, DELTA)

    def plain(problem: Problem) -> int:
        _, active, _ = plain_pursuit.backward(problem.channels, problem.required_gains, DELTA)
        return int(active.sum())

    solvers = (kernel, eigh, plain)
    for antennas, devices, gamma_db, count in track(CASES, "kernels", transient=True):
        problems = iid_problems(count, antennas, devices, gamma_db)
        kernel(problems[0])
        eigh(problems[0])
        # One after the other on each repeat, and the best of each: noise hits all alike.
        best = [np.inf] * len(solvers)
        for _ in range(REPEATS if count > 1 else 1):
            sizes = []
            for index, solve in enumerate(solvers):
                found, seconds = _timed(solve, problems)
                best[index] = min(best[index], seconds)
                sizes.append(found)
            assert sizes[0] == sizes[1] == sizes[2]
        fast, with_eigh, slow = best
        table.add_row(
            f"{devices} / {antennas}",
            f"{gamma_db:g}",
            f"{np.mean(sizes[0]):.2f}",
            f"{fast * 1e6:.1f}",
            f"{with_eigh * 1e6:.0f}",
            f"{with_eigh / fast:.1f}×",
            f"{slow * 1e6:.0f}",
            f"{slow / fast:.1f}×",
        )
    Console(width=120).print(table)


def _timed(solve: Callable[[Problem], int], problems: list[Problem]) -> tuple[list[int], float]:
    """Return the sizes and the seconds of processor time per problem."""
    started = time.thread_time()
    sizes = [solve(problem) for problem in problems]
    return sizes, (time.thread_time() - started) / len(problems)
