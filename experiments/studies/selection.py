"""How many devices each algorithm schedules, and how long it takes, on the same channels.

K = 20 devices, N = 6 antennas: iid CN(0, 1) channels with unit weights, as in the paper's Figure 2,
and its network with uneven weights of mean one, as in Figure 8. The paper's own points stand
beside, for the network those at a γ lower by what its unknown scale of the weights amounts to.
``python -m experiments`` draws the figures.
"""

import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from app.scheduling import Parameters, Problem, solve
from app.scheduling.schedulers.dc import DcParameters
from app.scheduling.schedulers.dual_pursuit import DualPursuitParameters
from app.scheduling.schedulers.sdr import SdrParameters
from app.warmup import warm_up
from lab.oracles import plain_pursuit
from lab.paper import SHIFT_DB, curves
from lab.problems import iid_problems, network_problems

CHANNELS = 100
# Other channels than those on which the constants of any algorithm were chosen.
SEED = 7


def _plain_pursuit(problem: Problem) -> int:
    _, active, _ = plain_pursuit.backward(problem.channels, problem.required_gains, 0.55)
    return int(active.sum())


def _solver(algorithm: str, parameters: Parameters | None = None) -> Callable[[Problem], int]:
    def run(problem: Problem) -> int:
        return solve(problem, algorithm, parameters).active.size

    return run


SOLVERS: dict[str, Callable[[Problem], int]] = {
    "dual_pursuit": _solver("dual_pursuit"),
    "100 starts": _solver("dual_pursuit", DualPursuitParameters(starts=100)),
    "dc": _solver("dc"),
    "dc, Clarabel": _solver("dc", DcParameters(solver="clarabel")),
    "matching_pursuit": _solver("matching_pursuit"),
    "plain SVD pursuit": _plain_pursuit,
    "sdr": _solver("sdr"),
    "sdr, prefix": _solver("sdr", SdrParameters(reading="prefix")),
    "proportional_fair": _solver("proportional_fair"),
    "random": _solver("random"),
}
NAMES = list(SOLVERS)


def main() -> None:
    warm_up()
    _run(
        "iid channels",
        (-10, -7, -5, -4, -1, 0, 2, 5, 8, 10, 11, 15, 20),
        lambda gamma_db: iid_problems(CHANNELS, 6, 20, gamma_db, SEED),
        curves("active_vs_gamma_iid"),
        0.0,
    )
    _run(
        "the paper's network",
        (-4, 1, 6, 11, 16, 21, 26, 31, 41),
        lambda gamma_db: network_problems(CHANNELS, 6, 20, gamma_db, SEED),
        curves("active_vs_gamma_network"),
        SHIFT_DB,
    )


def _run(
    title: str,
    gammas_db: tuple[float, ...],
    problems: Callable[[float], list[Problem]],
    paper: dict[str, dict[float, float]],
    shift_db: float,
) -> None:
    """Print the tables of one channel model."""
    printed = ["matching_pursuit", "dc", "sdr"]
    sizes = Table(title=f"mean |S|, {title}, K = 20, N = 6, {CHANNELS} channels")
    times = Table(title=f"median milliseconds, {title}")
    shown = [name for name in NAMES if name != "plain SVD pursuit"]
    for name in ["γ [dB]", *shown, "of 100 starts", *(f"paper's {name}" for name in printed)]:
        sizes.add_column(name)
    for name in ["γ [dB]", *NAMES, "dual over dc, Clarabel", "dual over plain SVD"]:
        times.add_column(name)
    with Progress(transient=True) as progress:
        task = progress.add_task(title, total=len(gammas_db) * CHANNELS)
        for gamma_db in gammas_db:
            measured = []
            for problem in problems(gamma_db):
                measured.append([_measure(problem, run) for run in SOLVERS.values()])
                progress.advance(task)
            counts, seconds = np.moveaxis(np.array(measured), 2, 0)
            mean = dict(zip(NAMES, counts.mean(axis=0).tolist(), strict=True))
            median = dict(zip(NAMES, (1e3 * np.median(seconds, axis=0)).tolist(), strict=True))
            points = (paper[name].get(gamma_db - shift_db) for name in printed)
            sizes.add_row(
                f"{gamma_db:g}",
                *(f"{mean[name]:.2f}" for name in shown),
                f"{mean['dual_pursuit'] / max(mean['100 starts'], 1e-9):.3f}",
                *("" if point is None else f"{point:.2f}" for point in points),
            )
            times.add_row(
                f"{gamma_db:g}",
                *(f"{median[name]:.3g}" for name in NAMES),
                f"1/{median['dc, Clarabel'] / median['dual_pursuit']:.0f}",
                f"{median['dual_pursuit'] / median['plain SVD pursuit']:.2f}",
            )
    for table in (sizes, times):
        Console(width=180).print(table)


def _measure(problem: Problem, run: Callable[[Problem], int]) -> tuple[int, float]:
    started = time.perf_counter()
    size = run(problem)
    return size, time.perf_counter() - started
