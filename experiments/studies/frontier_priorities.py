"""The frontier with priorities, under GSDS's objective: beside the best over all sets.

K = 10, N = 16, uneven weights, which are the priorities too: the objective counts the weight of
the devices that are scheduled. Channels and objective are those of :mod:`lab.rivals`. The best
over all sets is exhaustive (:mod:`lab.oracles.all_sets`).

``values only`` is what the frontier was before: a search for K evenly spaced values, without the
points of the search that counts devices. The 50 + 50 values of today's were chosen on other drops
(seed 5511).
"""

import time

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from airsched_client.federated.statistics import mean_of
from app.scheduling import SCHEDULERS, Problem, SolveSpec, find_frontier
from app.scheduling.kernels.dual.frontier import frontier_pursuit
from app.scheduling.problem import LARGEST
from app.scheduling.pursuit import STARTS, seed_of
from app.scheduling.types import ComplexArray, RealArray
from app.warmup import warm_up
from lab.oracles.all_sets import errors_of_all_sets
from lab.rivals.gsds import DEVICES, drop, select
from lab.rivals.learning_cost import best_of_frontier, cost, error_of

DROPS = 60
SEED = 30501
POWERS_DBM = (-40, -35, -30, -25, -20, -10, 0)
METHODS = ("GSDS", "values only", "without priorities", "with priorities")
DUAL = SCHEDULERS["dual_pursuit"]


def main() -> None:
    """Print the table of costs, and the mean times."""
    warm_up("anytime")
    _cost_of("values only", *drop(np.random.default_rng(0), 0.0, uneven=True), 0)
    costs: dict[int, list[list[float]]] = {power: [] for power in POWERS_DBM}
    seconds = np.zeros(len(METHODS))
    for number in track(range(DROPS), "drops", transient=True):
        channels, weights = drop(np.random.default_rng([SEED, number]), 0.0, uneven=True)
        errors = errors_of_all_sets(channels, weights, np.random.default_rng([SEED, number, 1]))
        for power in POWERS_DBM:
            best = min(
                cost(weights, np.array(members), error * 10 ** (-power / 10))
                for members, error in errors.items()
            )
            row = [best]
            for place, method in enumerate(METHODS):
                begun = time.thread_time()
                row.append(_cost_of(method, channels * 10 ** (power / 20), weights, number))
                seconds[place] += time.thread_time() - begun
            costs[power].append(row)
    table = Table(title=f"cost, and % above the best over all sets ± s.e., {DROPS} drops")
    for name in ("P [dBm]", "best of all sets", *METHODS, "with − without"):
        table.add_column(name, justify="right")
    for power, rows in costs.items():
        found = np.array(rows)
        excess = 100 * (found[:, 1:] / found[:, :1] - 1)
        table.add_row(
            f"{power}",
            f"{found[:, 0].mean():.4g}",
            *(mean_of(column).text(2, sign=True) for column in excess.T),
            mean_of(excess[:, 3] - excess[:, 2]).text(2, sign=True),
        )
    console = Console(width=140)
    console.print(table)
    each = 1e3 * seconds / DROPS / len(POWERS_DBM)
    listed = ", ".join(f"{name} {time_:.2f}" for name, time_ in zip(METHODS, each, strict=True))
    console.print(f"ms on average: {listed} (values only: without verified schedules)")


def _cost_of(method: str, channels: ComplexArray, weights: RealArray, seed: int) -> float:
    if method == "GSDS":
        return select(channels, weights).cost
    if method == "values only":
        return _cost_of_values(channels, weights, seed)
    priorities = weights if method == "with priorities" else None
    problem = Problem(channels, weights, LARGEST, priorities=priorities)
    found = find_frontier(problem, SolveSpec(DUAL, DUAL.parameters(), seed=seed))
    return best_of_frontier(found, weights)


def _cost_of_values(channels: ComplexArray, weights: RealArray, seed: int) -> float:
    """Return the least cost of a search for K evenly spaced values."""
    gammas, receivers, _ = frontier_pursuit(
        channels,
        weights,
        weights,
        np.linspace(0.0, weights.sum(), DEVICES + 1)[1:],
        LARGEST,
        np.zeros(0, np.complex128),
        STARTS,
        seed_of(seed),
        np.zeros(1, np.bool_),
    )
    costs = []
    for gamma, receiver in zip(gammas, receivers, strict=True):
        gains = np.abs(receiver.conj() @ channels) ** 2
        active = np.flatnonzero(gains * gamma >= weights**2 * (1 - 1e-9))
        costs.append(cost(weights, active, error_of(channels, weights, active, receiver)))
    return min(costs)
