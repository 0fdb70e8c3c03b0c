"""What a solve takes, beside an earlier revision: processor time, in turns, on equal channels."""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import mean, stdev

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from app.scheduling import Problem
from benchmarks import solver_worker
from lab.checkouts import BEFORE, NOW, checkouts
from lab.problems import iid_problems, network_problems

Make = Callable[[int, int, int, float, int], list[Problem]]

# algorithm, channels, antennas, devices, γ in dB, number of problems
CASES: list[tuple[str, Make, int, int, float, int]] = [
    ("matching_pursuit", iid_problems, 6, 20, 0, 200),
    ("matching_pursuit", iid_problems, 16, 100, 0, 40),
    ("matching_pursuit", iid_problems, 64, 1000, 3, 2),
    *(("dual_pursuit", iid_problems, 6, 20, gamma_db, 100) for gamma_db in (-4.0, -1.0, 2.0)),
    *(("dual_pursuit", iid_problems, 16, 100, gamma_db, 40) for gamma_db in (-4.0, -1.0, 2.0, 5.0)),
    *(("dual_pursuit", network_problems, 16, 100, gamma_db, 40) for gamma_db in (0.0, 10.0, 20.0)),
    ("dual_pursuit", iid_problems, 64, 1000, 3, 2),
]
TURNS = 6
SEED = 20

Ask = Callable[[str, list[Problem]], list[tuple[float, int]]]


def compare(revision: str) -> None:
    """Print the milliseconds of a solve, and the devices served, in ``revision`` and now."""
    table = Table(
        "algorithm",
        "channels",
        "K / N",
        "γ [dB]",
        f"{revision}: ms, |S|",
        "now: ms, |S|",
        "before over now",
        "|S| now − before",
        title=f"processor time of a solve, {TURNS} turns",
    )
    with checkouts(revision) as folders, ExitStack() as stack:
        ask = {name: stack.enter_context(_worker(folder)) for name, folder in folders.items()}
        for algorithm, make, antennas, devices, gamma_db, count in track(
            CASES, "versions", transient=True
        ):
            problems = make(count, antennas, devices, gamma_db, SEED)
            times: dict[str, list[float]] = {name: [] for name in ask}
            sizes: dict[str, np.ndarray[tuple[int], np.dtype[np.int64]]] = {}
            for _ in range(TURNS):
                for name, solve in ask.items():
                    seconds, served = zip(*solve(algorithm, problems), strict=True)
                    times[name].append(1e3 * mean(seconds))
                    sizes[name] = np.array(served)
            ratios = [one / other for one, other in zip(times[BEFORE], times[NOW], strict=True)]
            gained = sizes[NOW] - sizes[BEFORE]
            table.add_row(
                algorithm,
                make.__name__.removesuffix("_problems"),
                f"{devices} / {antennas}",
                f"{gamma_db:g}",
                *(f"{mean(times[name]):.3g}, {sizes[name].mean():.2f}" for name in (BEFORE, NOW)),
                f"{mean(ratios):.2f} ± {stdev(ratios) / TURNS**0.5:.2f}",
                f"{gained.mean():+.3f} ± {gained.std(ddof=1) / count**0.5:.3f}",
            )
    Console(width=130).print(table)


@contextmanager
def _worker(folder: Path) -> Iterator[Ask]:
    """Yield what asks the version in ``folder`` to solve problems."""
    process = subprocess.Popen(
        [sys.executable, Path(solver_worker.__file__)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "OPENBLAS_NUM_THREADS": "1"},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    write, read = process.stdin, process.stdout

    def ask(algorithm: str, problems: list[Problem]) -> list[tuple[float, int]]:
        stated = [(each.channels, each.weights, each.gamma) for each in problems]
        pickle.dump((algorithm, stated), write)
        write.flush()
        found: list[tuple[float, int]] = pickle.load(read)
        return found

    with process:
        yield ask
        write.close()
