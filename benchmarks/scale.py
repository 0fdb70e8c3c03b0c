"""Dual pursuit for many devices beside an earlier revision, and beside 100 starts of both.

The constants of its soft starts were chosen on seeds 5000 to 5903, those of its plain starts on
those that :mod:`app.scheduling.kernels.dual.search` lists; these channels are others.
"""

from dataclasses import replace
from statistics import mean

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from airsched_client.federated.statistics import mean_difference, mean_of
from app.scheduling import Problem
from benchmarks.versions import Make, Solved, ratio, solvers
from lab.checkouts import BEFORE, NOW
from lab.problems import iid_problems, network_problems

SEED = 30510
TURNS = 3
MANY_STARTS = {"starts": 100}

CASES: list[tuple[Make, int, int, float, int]] = [
    (iid_problems, 6, 20, -4.0, 50),
    (iid_problems, 6, 20, -1.0, 50),
    (network_problems, 6, 20, 11.0, 50),
    (iid_problems, 6, 40, 0.0, 50),
    (iid_problems, 6, 60, -4.0, 50),
    (iid_problems, 6, 60, 0.0, 50),
    (network_problems, 6, 60, 11.0, 50),
    (iid_problems, 6, 100, 4.0, 40),
    (iid_problems, 16, 100, -3.0, 40),
    (network_problems, 16, 100, 8.0, 100),
    (iid_problems, 16, 125, 0.0, 16),
    (iid_problems, 16, 126, 0.0, 16),
    (iid_problems, 16, 200, -3.0, 16),
    (iid_problems, 16, 312, 0.0, 8),
    (iid_problems, 16, 313, 0.0, 8),
    (iid_problems, 32, 400, 0.0, 8),
    (iid_problems, 64, 1000, 0.0, 6),
    (iid_problems, 64, 1000, -3.0, 6),
    (network_problems, 64, 1000, 5.0, 8),
]
"""The kind of channels, N, K, γ in decibels, and how many channels."""

WITH_PRIORITIES: list[tuple[Make, int, int, float, int]] = [
    (iid_problems, 6, 60, 0.0, 40),
    (iid_problems, 16, 100, -3.0, 20),
]
"""The same with priorities between 0.5 and 3."""


def compare(revision: str) -> None:
    """Print the devices that both serve, or their value, and the ratio of their times."""
    table = Table(
        "channels",
        "K / N",
        "γ [dB]",
        f"{revision}: |S|",
        "now",
        "now − before",
        "− its 100 starts [%]",
        "− 100 starts now [%]",
        "time now over before",
        title=f"dual pursuit: processor time of a solve, {TURNS} turns",
    )
    cases = [(*case, False) for case in CASES] + [(*case, True) for case in WITH_PRIORITIES]
    with solvers(revision) as ask:
        for make, antennas, devices, gamma_db, count, prioritised in track(
            cases, "versions", transient=True
        ):
            problems = make(count, antennas, devices, gamma_db, SEED)
            if prioritised:
                rng = np.random.default_rng(SEED)
                problems = [
                    replace(each, priorities=rng.uniform(0.5, 3.0, devices)) for each in problems
                ]
            for solve in ask.values():
                # Loads the kernels.
                solve("dual_pursuit", problems[:1])
            times: dict[str, list[float]] = {name: [] for name in ask}
            worth: dict[str, list[float]] = {}
            for _ in range(TURNS):
                for name, solve in ask.items():
                    solved = solve("dual_pursuit", problems)
                    times[name].append(mean(seconds for seconds, _ in solved))
                    worth[name] = _worth(problems, solved)
            many = {
                name: _worth(problems, solve("dual_pursuit", problems, parameters=MANY_STARTS))
                for name, solve in ask.items()
            }
            table.add_row(
                make.__name__.removesuffix("_problems") + (", priorities" if prioritised else ""),
                f"{devices} / {antennas}",
                f"{gamma_db:g}",
                *(f"{mean(worth[name]):.2f}" for name in (BEFORE, NOW)),
                mean_difference(worth[NOW], worth[BEFORE]).text(2, sign=True),
                *(_percent(worth[NOW], many[name]) for name in (BEFORE, NOW)),
                ratio(times[NOW], times[BEFORE]),
            )
    Console(width=140).print(table)


def _worth(problems: list[Problem], solved: list[Solved]) -> list[float]:
    """Return the number of devices that are served, or the sum of their priorities."""
    return [
        float(np.sum((np.ones(each.devices) if each.priorities is None else each.priorities)[own]))
        for each, own in zip(problems, (schedule["active"] for _, schedule in solved), strict=True)
    ]


def _percent(ones: list[float], others: list[float]) -> str:
    """Return the mean difference in percent of the others' mean."""
    scale = 100 / mean(others)
    differences = [scale * (one - other) for one, other in zip(ones, others, strict=True)]
    return mean_of(differences).text(2, sign=True)
