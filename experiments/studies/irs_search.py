"""Dual pursuit with a surface beside a search that only grows its sets, from 2 and from 50 starts.

K = 20, N = 6, M = 32, independent channels, the same ones for every column. Growing adds devices
one by one and drops none. Compare times only within one run.
"""

import time

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from airsched_client.federated.statistics import mean_difference, ratio_of_means
from app.scheduling import Context, IrsProblem, solve
from app.scheduling.irs.joint_search import JointSearch
from app.scheduling.irs.schedulers.dual_pursuit import IrsDualPursuitParameters, starts_of
from app.warmup import warm_up
from lab.problems import iid_irs_problems

GAMMAS_DB = (-15, -12, -9)
ELEMENTS = 32
CHANNELS = 100
FEW, MANY = 2, 50
# Other channels than those on which the constants of the search were chosen.
SEED = 2026


def main() -> None:
    warm_up()
    table = Table(
        "γ [dB]",
        "dual pursuit",
        f"growing, {FEW} starts",
        f"growing, {MANY} starts",
        f"share of {MANY} starts",
        f"difference to {MANY} starts",
        f"time / growing, {FEW} starts",
        f"time / growing, {MANY} starts",
        title=f"mean |S| (ms), M = {ELEMENTS}, {CHANNELS} channels, ± one standard error",
    )
    for gamma_db in GAMMAS_DB:
        problems = iid_irs_problems(CHANNELS, ELEMENTS, gamma_db, SEED)
        sizes, seconds = np.empty((3, CHANNELS)), np.empty((3, CHANNELS))
        for seed, problem in enumerate(
            track(problems, f"irs_search: {gamma_db} dB", transient=True)
        ):
            for column, size in enumerate((_default, _few, _many)):
                begun = time.perf_counter()
                sizes[column, seed] = size(problem, seed)
                seconds[column, seed] = time.perf_counter() - begun
        means, times = sizes.mean(axis=1), seconds.mean(axis=1)
        table.add_row(
            str(gamma_db),
            *(f"{mean:.2f} ({1e3 * spent:.1f})" for mean, spent in zip(means, times, strict=True)),
            ratio_of_means(sizes[0], sizes[2]).text(),
            mean_difference(sizes[0], sizes[2]).text(2, sign=True),
            f"{times[0] / times[1]:.2f}",
            f"{times[0] / times[2]:.3f}",
        )
    Console(width=150).print(table)


def _default(problem: IrsProblem, seed: int) -> int:
    return solve(problem, "dual_pursuit", seed=seed).active.size


def _few(problem: IrsProblem, seed: int) -> int:
    return _grown(problem, seed, FEW)


def _many(problem: IrsProblem, seed: int) -> int:
    return _grown(problem, seed, MANY)


def _grown(problem: IrsProblem, seed: int, starts: int) -> int:
    """Return how many devices growing finds."""
    context = Context(seed)
    search = JointSearch(problem, context)
    for phases, receiver in starts_of(problem, IrsDualPursuitParameters(starts), context, search):
        search.grow(search.untuned(phases, receiver).receiver, phases)
    search.raise_level()
    return int(np.count_nonzero(search.served))
