"""Priorities: the value of each algorithm's sets beside the optimum's, K = 10.

Values are drawn in three ways: log-uniform over two decades, uniform from 0.1 to 1, and geometric
as ages are. ± is the standard error over the problems. ``dual_pursuit, counting`` ignores the
priorities.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from airsched_client.federated.statistics import ratio_of_means
from app.scheduling import Parameters, Problem, solve
from app.scheduling.schedulers.dual_pursuit import DualPursuitParameters
from app.scheduling.types import RealArray
from app.warmup import warm_up
from lab.channels import iid_channels

PROBLEMS = 75
"""For each number of antennas, tolerance and way to draw."""
SEED = 42

DRAWS: dict[str, Callable[[np.random.Generator, int], RealArray]] = {
    "two decades": lambda rng, devices: 10 ** rng.uniform(-1, 1, devices),
    "0.1 to 1": lambda rng, devices: rng.uniform(0.1, 1, devices),
    "ages": lambda rng, devices: rng.geometric(0.3, devices).astype(float),
}


def _solver(
    name: str, parameters: Parameters | None = None, *, counting: bool = False
) -> Callable[[Problem, int], float]:
    def run(problem: Problem, seed: int) -> float:
        given = replace(problem, priorities=None) if counting else problem
        return float(problem.values[solve(given, name, parameters, seed=seed).active].sum())

    return run


SOLVERS = {
    "optimal": _solver("optimal"),
    "dual_pursuit": _solver("dual_pursuit"),
    "20 starts": _solver("dual_pursuit", DualPursuitParameters(20)),
    "dual_pursuit, counting": _solver("dual_pursuit", counting=True),
    "dc": _solver("dc"),
    "sdr": _solver("sdr"),
    "matching_pursuit": _solver("matching_pursuit"),
}


def main() -> None:
    warm_up()
    rng = np.random.default_rng(SEED)
    cases = [(n, g, draw) for n in (3, 6) for g in (-6, -3, 0, 3) for draw in DRAWS]
    values: dict[str, list[list[float]]] = {draw: [] for draw in DRAWS}
    for antennas, gamma_db, draw in track(cases, "priorities", transient=True):
        for seed in range(PROBLEMS):
            channels = iid_channels(rng, antennas, 10)
            priorities = DRAWS[draw](rng, 10)
            problem = Problem(channels, np.ones(10), 10 ** (gamma_db / 10), priorities=priorities)
            values[draw].append([run(problem, seed) for run in SOLVERS.values()])
    table = Table(title=f"share of the optimum's value, K = 10, {len(cases) * PROBLEMS} problems")
    table.add_column("algorithm")
    for name in (*DRAWS, "all", "optimal in"):
        table.add_column(name, justify="right")
    everything = np.concatenate([np.array(found) for found in values.values()])
    for index, name in enumerate(SOLVERS):
        if name == "optimal":
            continue
        columns = [np.array(found)[:, [0, index]] for found in values.values()]
        columns.append(everything[:, [0, index]])
        optimal = np.mean(everything[:, index] >= everything[:, 0] * (1 - 1e-9))
        table.add_row(name, *map(_share, columns), f"{optimal:.1%}")
    Console(width=120).print(table)


def _share(pairs: RealArray) -> str:
    """Return the ratio of total values, and its standard error."""
    best, own = pairs.T
    return ratio_of_means(own, best).text(4)
