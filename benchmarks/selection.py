"""How many devices each algorithm schedules, and how long it takes, on the same channels.

K = 20 devices, N = 6 antennas, iid CN(0, 1) channels and unit weights, as in the paper's Figure 3.
Draws ``benchmarks/active_vs_gamma.png``.
"""

import time
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from app.compilation import compile_kernels
from app.scheduling import SCHEDULERS, Problem, solve
from benchmarks.channels import iid_problems

GAMMAS_DB = (-10, -7, -4, -1, 2, 5, 8, 11)
CHANNELS = 100
ALGORITHMS = {
    "dual_pursuit": "tab:red",
    "dc": "tab:blue",
    "matching_pursuit": "black",
    "sdr": "tab:green",
    "proportional_fair": "tab:orange",
    "random": "tab:gray",
}
PICTURE = Path(__file__).parent / "active_vs_gamma.png"
# Other channels than those on which the constants of any algorithm were chosen.
SEED = 7


def main() -> None:
    compile_kernels()
    table = Table(title=f"mean |S| (median ms), K = 20, N = 6, {CHANNELS} channels")
    table.add_column("γ [dB]")
    for name in ALGORITHMS:
        table.add_column(name)
    means: dict[str, list[float]] = {name: [] for name in ALGORITHMS}
    with Progress(transient=True) as progress:
        task = progress.add_task("selection", total=len(GAMMAS_DB) * CHANNELS)
        for gamma_db in GAMMAS_DB:
            problems = iid_problems(CHANNELS, 6, 20, gamma_db, SEED)
            sizes = np.zeros((CHANNELS, len(ALGORITHMS)))
            seconds = np.zeros_like(sizes)
            for row, problem in enumerate(problems):
                for column, name in enumerate(ALGORITHMS):
                    sizes[row, column], seconds[row, column] = _measure(problem, name)
                progress.advance(task)
            for column, name in enumerate(ALGORITHMS):
                means[name].append(float(sizes[:, column].mean()))
            table.add_row(
                str(gamma_db),
                *(
                    f"{size:.2f} ({1e3 * median:.2f})"
                    for size, median in zip(
                        sizes.mean(axis=0), np.median(seconds, axis=0), strict=True
                    )
                ),
            )
    Console().print(table)
    _draw(means)
    print(f"drew benchmarks/{PICTURE.name}")


def _measure(problem: Problem, name: str) -> tuple[int, float]:
    started = time.perf_counter()
    schedule = solve(problem, name, SCHEDULERS[name].parameters())
    return schedule.active.size, time.perf_counter() - started


def _draw(means: dict[str, list[float]]) -> None:
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for name, color in ALGORITHMS.items():
        axes.plot(GAMMAS_DB, means[name], "o-", color=color, label=name.replace("_", " "))
    axes.set_xlabel("tolerance γ [dB]")
    axes.set_ylabel("mean number of active devices, of 20")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(PICTURE, dpi=120)
