"""Cells: what knowing the interference is worth in devices, and few devices at many antennas.

The first table has iid channels with P/σ² = 1 and K = 20, N = 6, and interferers of 10 dB above the
noise at every antenna. *Aware* sends the covariance. *Unaware* knows only the mean noise variance;
counted are the devices that its receiver serves in truth. *Claimed* is what it believes to serve. ±
is the standard error over the channels.

The second table has the time of one solve with and without the change to fewer dimensions.
"""

import time

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from airsched_client.federated.statistics import mean_difference, mean_of
from app.scheduling import AnyProblem, Problem, solve
from app.scheduling.cells.cell import state
from app.scheduling.types import ComplexArray
from app.warmup import warm_up
from lab.channels import iid_channels

CHANNELS = 200
SEED = 2700
STRENGTH = 10.0
"""Power of an interferer over the noise, on average over the antennas."""

MAX_ERRORS = (0.5, 1.0, 2.0)


def main() -> None:
    """Print both tables."""
    warm_up()
    table = Table(title=f"dual pursuit, K = 20, N = 6, {CHANNELS} channels")
    for name in ("interferers", "ε", "aware", "unaware", "aware - unaware", "claimed"):
        table.add_column(name, justify="right")
    for interferers in (1, 2):
        for max_error in MAX_ERRORS:
            table.add_row(str(interferers), f"{max_error:g}", *_row(interferers, max_error))
    Console(width=100).print(table)
    _few_devices()


def _row(interferers: int, max_error: float) -> list[str]:
    rng = np.random.default_rng(SEED + interferers)
    aware, unaware, claimed = [], [], []
    for seed in track(range(CHANNELS), f"{interferers} interferers", transient=True):
        channels = iid_channels(rng, 6, 20)
        columns = np.sqrt(STRENGTH) * iid_channels(rng, 6, interferers)
        noise = np.eye(6) + columns @ columns.conj().T
        mean = float(np.trace(noise).real / 6)
        problem = Problem(channels, np.ones(20), max_error / mean, noise_variance=mean)
        known = solve(state(problem, noise_covariance=noise), "dual_pursuit", seed=seed)
        guessed = solve(problem, "dual_pursuit", seed=seed)
        aware.append(float(known.active.size))
        claimed.append(float(guessed.active.size))
        served = 0
        if guessed.receiver is not None:
            served = _truly_served(problem, noise, guessed.receiver, max_error)
        unaware.append(float(served))
    return [
        mean_of(aware).text(2),
        mean_of(unaware).text(2),
        mean_difference(aware, unaware).text(2, sign=True),
        mean_of(claimed).text(2),
    ]


def _truly_served(
    problem: Problem, noise: ComplexArray, receiver: ComplexArray, max_error: float
) -> int:
    """Return how many devices have φ_k² cᴴRc ≤ ε P |h_kᴴc|²."""
    through = np.vdot(receiver, noise @ receiver).real
    gains = np.abs(receiver.conj() @ problem.channels) ** 2
    return int(np.count_nonzero(through <= max_error * gains))


def _few_devices() -> None:
    table = Table(title="milliseconds of one solve: all antennas, and the span of the channels")
    for name in ("K / N", "algorithm", "all", "span", "span / all"):
        table.add_column(name, justify="right")
    rng = np.random.default_rng(SEED)
    for devices, antennas in ((3, 256), (20, 64)):
        channels = iid_channels(rng, antennas, devices)
        problem = Problem(channels, np.ones(devices), 1.5 / antennas)
        for algorithm in ("matching_pursuit", "dual_pursuit"):
            full, small = [], []
            # In turns, so that both meet the same machine.
            for _ in range(20):
                full.append(_seconds(problem, algorithm))
                small.append(_seconds(problem, algorithm, reduced=True))
            ratio = np.median(small) / np.median(full)
            cells = (f"{1e3 * np.median(each):.3f}" for each in (full, small))
            table.add_row(f"{devices} / {antennas}", algorithm, *cells, f"{ratio:.3f}")
    Console(width=100).print(table)


def _seconds(problem: Problem, algorithm: str, *, reduced: bool = False) -> float:
    began = time.perf_counter()
    stated: AnyProblem = state(problem) if reduced else problem
    solve(stated, algorithm)
    return time.perf_counter() - began
