"""What a proof costs, and how far the algorithms are from the proven optimum.

Times are processor time of one core: of dual pursuit and the proof together. A proof that takes
longer than :data:`LIMIT` is given up; then the bound it reached stands beside the best schedule.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from app.scheduling import Context, Problem, solve
from app.scheduling.bounding import prove
from app.scheduling.pursuit import pursue
from app.scheduling.types import MaskArray
from app.warmup import warm_up
from lab.problems import ChannelModel, problems_of

# Other channels than those on which the search was made.
SEED = 1405
LIMIT = 10.0
"""Processor seconds for one proof."""

PAPER: dict[ChannelModel, tuple[int, ...]] = {"iid": (-7, -4, -1, 2), "network": (1, 11, 21)}
"""γ in decibels by channel model, at the paper's size."""
CHANNELS = 100
OTHERS = ("dual_pursuit", "dc", "matching_pursuit")

SIZES = ((10, 4, 50), (20, 4, 50), (20, 6, 50), (20, 8, 50), (30, 6, 20), (40, 6, 6), (50, 8, 4))
"""K, N and the number of channels."""

GAMMAS_DB = (-7, -4, -1, 2)


class Proven(NamedTuple):
    """How a proof went: the best schedule's devices, the bound, and processor seconds."""

    best: int
    upper_bound: int
    seconds: float

    def within(self, seconds: float) -> bool:
        """Return whether the optimum was proven in that time."""
        return self.best == self.upper_bound and self.seconds <= seconds


def main() -> None:
    warm_up()
    console = Console(width=140)
    with Progress(transient=True, console=console) as progress:
        tables = [_distance(progress), _cost(progress)]
    for table in tables:
        console.print(table)


def _distance(progress: Progress) -> Table:
    """Return how many optima are proven in time, and what share of them the others reach."""
    table = Table(title=f"K = 20, N = 6, {CHANNELS} channels")
    for name in ["channels", "γ [dB]", "proved in 10 ms", "0.1 s", "1 s", "longest [s]"]:
        table.add_column(name)
    for name in ["optimum", *OTHERS]:
        table.add_column(name)
    table.add_column("misses of dual_pursuit")
    cases = [(model, gamma_db) for model, gammas_db in PAPER.items() for gamma_db in gammas_db]
    task = progress.add_task("distance", total=len(cases) * CHANNELS)
    for model, gamma_db in cases:
        proofs, counts = [], []
        for problem in problems_of(model, CHANNELS, 6, 20, gamma_db, SEED):
            proofs.append(_proven(problem))
            counts.append([solve(problem, name).active.size for name in OTHERS])
            progress.advance(task)
        # Only where the optimum is known.
        known = np.array([proof.best == proof.upper_bound for proof in proofs])
        optimum = np.array([proof.best for proof in proofs])[known]
        reached = np.array(counts)[known]
        table.add_row(
            model,
            f"{gamma_db:g}",
            *(_percent(proofs, seconds) for seconds in (0.01, 0.1, 1.0)),
            f"{max(proof.seconds for proof in proofs):.3f}",
            f"{optimum.mean():.2f}",
            *(f"{share:.3f}" for share in reached.mean(axis=0) / optimum.mean()),
            f"{(reached[:, 0] < optimum).sum()}",
        )
    return table


def _cost(progress: Progress) -> Table:
    """Return what a proof costs by K, N and γ."""
    table = Table(title=f"iid channels, at most {LIMIT:g} s for a proof")
    for name in ["K", "N", "γ [dB]", "channels", "proved in 20 ms", "in time"]:
        table.add_column(name)
    for name in ["median [s]", "mean [s]", "longest [s]", "best", "bound"]:
        table.add_column(name)
    task = progress.add_task("cost", total=len(GAMMAS_DB) * sum(count for _, _, count in SIZES))
    for devices, antennas, count in SIZES:
        for gamma_db in GAMMAS_DB:
            proofs = []
            for problem in problems_of("iid", count, antennas, devices, gamma_db, SEED):
                proofs.append(_proven(problem))
                progress.advance(task)
            seconds = [proof.seconds for proof in proofs]
            table.add_row(
                *map(str, (devices, antennas, gamma_db, count)),
                _percent(proofs, 0.02),
                _percent(proofs, np.inf),
                *(f"{value:.3g}" for value in (np.median(seconds), np.mean(seconds), max(seconds))),
                f"{np.mean([proof.best for proof in proofs]):.2f}",
                f"{np.mean([proof.upper_bound for proof in proofs]):.2f}",
            )
    return table


def _percent(proofs: list[Proven], seconds: float) -> str:
    return f"{100 * np.mean([proof.within(seconds) for proof in proofs]):.0f} %"


def _proven(problem: Problem) -> Proven:
    context = Context()
    with _processor_limit(LIMIT) as spent:
        begun = time.thread_time()
        receiver, found, _ = pursue(problem, context)
        known = int(problem.served(receiver).sum()) if found else 0
        proof = prove(problem, known, context.stop, spent)
        seconds = time.thread_time() - begun
    if proof.receiver is not None:
        known = int(np.count_nonzero(problem.served(proof.receiver)))
    return Proven(known, round(proof.upper_bound), seconds)


@contextmanager
def _processor_limit(seconds: float) -> Iterator[MaskArray]:
    """Provide a flag that is set once this process has used that much processor time."""
    flag = np.zeros(1, np.bool_)
    done = threading.Event()
    until = time.process_time() + seconds

    def watch() -> None:
        while not done.wait(0.02):
            if time.process_time() > until:
                flag[0] = True

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield flag
    finally:
        done.set()
        watcher.join()
