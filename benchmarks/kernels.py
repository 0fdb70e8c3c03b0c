"""The compiled matching pursuit against a plain loop of full NumPy SVDs, on the same channels.

Both on one thread (``make bench`` sets ``OPENBLAS_NUM_THREADS``): for matrices of this size more
threads make NumPy's SVD slower, not faster.
"""

import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from app.scheduling import Problem
from app.scheduling.kernels.matching.algorithm_1 import backward_pursuit
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


def main() -> None:
    table = Table(
        "K / N", "γ [dB]", "mean |S|", "kernel [µs]", "NumPy SVD [µs]", "ratio", title="kernel"
    )
    never = np.zeros(1, np.bool_)

    def kernel(problem: Problem) -> int:
        _, active, _ = backward_pursuit(
            problem.channels, problem.required_gains, problem.values, DELTA, False, never
        )
        return int(active.sum())

    def plain(problem: Problem) -> int:
        _, active, _ = plain_pursuit.backward(problem.channels, problem.required_gains, DELTA)
        return int(active.sum())

    for antennas, devices, gamma_db, count in track(CASES, "kernels", transient=True):
        problems = iid_problems(count, antennas, devices, gamma_db)
        kernel(problems[0])
        # One after the other on each repeat, and the best of each: noise hits both alike.
        fast, slow = np.inf, np.inf
        for _ in range(REPEATS if count > 1 else 1):
            sizes, seconds = _timed(kernel, problems)
            fast = min(fast, seconds)
            reference, seconds = _timed(plain, problems)
            slow = min(slow, seconds)
            assert sizes == reference
        table.add_row(
            f"{devices} / {antennas}",
            f"{gamma_db:g}",
            f"{np.mean(sizes):.2f}",
            f"{fast * 1e6:.1f}",
            f"{slow * 1e6:.0f}",
            f"{slow / fast:.1f}×",
        )
    Console().print(table)


def _timed(solve: Callable[[Problem], int], problems: list[Problem]) -> tuple[list[int], float]:
    """Return the sizes and the seconds a problem."""
    started = time.perf_counter()
    sizes = [solve(problem) for problem in problems]
    return sizes, (time.perf_counter() - started) / len(problems)
