"""Dual pursuit for many devices beside an earlier revision, and beside 100 starts of both.

The constants of its soft starts were chosen on seeds 5000 to 5903, those of its plain starts on
those that :mod:`app.scheduling.kernels.dual.search` lists; these channels are others.
"""

from dataclasses import replace
from statistics import mean
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from airsched_client.federated.statistics import mean_difference, mean_of
from app.scheduling import Problem
from lab.checkouts import BEFORE, NOW
from lab.problems import ChannelModel, problems_of
from lab.versions import ratio, solve_in_turns, solvers

SEED = 30510
TURNS = 3
MANY_STARTS = {"starts": 100}

CASES: list[tuple[ChannelModel, int, int, float, int]] = [
    ("iid", 6, 20, -4.0, 50),
    ("iid", 6, 20, -1.0, 50),
    ("network", 6, 20, 11.0, 50),
    ("iid", 6, 40, 0.0, 50),
    ("iid", 6, 60, -4.0, 50),
    ("iid", 6, 60, 0.0, 50),
    ("network", 6, 60, 11.0, 50),
    ("iid", 6, 100, 4.0, 40),
    ("iid", 16, 100, -3.0, 40),
    ("network", 16, 100, 8.0, 100),
    ("iid", 16, 125, 0.0, 16),
    ("iid", 16, 126, 0.0, 16),
    ("iid", 16, 200, -3.0, 16),
    ("iid", 16, 312, 0.0, 8),
    ("iid", 16, 313, 0.0, 8),
    ("iid", 32, 400, 0.0, 8),
    ("iid", 64, 1000, 0.0, 6),
    ("iid", 64, 1000, -3.0, 6),
    ("network", 64, 1000, 5.0, 8),
]
"""Channels, N, K, γ in decibels, and how many channels."""

WITH_PRIORITIES: list[tuple[ChannelModel, int, int, float, int]] = [
    ("iid", 6, 60, 0.0, 40),
    ("iid", 16, 100, -3.0, 20),
]
"""The same with priorities between 0.5 and 3."""


def main(revision: str) -> None:
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
        for model, antennas, devices, gamma_db, count, prioritised in track(
            cases, "scale", transient=True
        ):
            problems = problems_of(model, count, antennas, devices, gamma_db, SEED)
            if prioritised:
                rng = np.random.default_rng(SEED)
                problems = [
                    replace(each, priorities=rng.uniform(0.5, 3.0, devices)) for each in problems
                ]
            seconds, schedules = solve_in_turns(ask, "dual_pursuit", problems, TURNS)
            worth = {name: _worth(problems, of) for name, of in schedules.items()}
            many = {
                name: _worth(problems, [schedule for _, schedule in solved])
                for name, solve in ask.items()
                for solved in [solve("dual_pursuit", problems, parameters=MANY_STARTS)]
            }
            table.add_row(
                model + (", priorities" if prioritised else ""),
                f"{devices} / {antennas}",
                f"{gamma_db:g}",
                *(f"{mean(worth[name]):.2f}" for name in (BEFORE, NOW)),
                mean_difference(worth[NOW], worth[BEFORE]).text(2, sign=True),
                *(_percent(worth[NOW], many[name]) for name in (BEFORE, NOW)),
                ratio(seconds[NOW], seconds[BEFORE]),
            )
    Console(width=140).print(table)


def _worth(problems: list[Problem], schedules: list[dict[str, Any]]) -> list[float]:
    """Return the number of devices that are served, or the sum of their priorities."""
    return [
        float(
            schedule["active"].size
            if each.priorities is None
            else each.priorities[schedule["active"]].sum()
        )
        for each, schedule in zip(problems, schedules, strict=True)
    ]


def _percent(ones: list[float], others: list[float]) -> str:
    """Return the mean difference in percent of the others' mean."""
    scale = 100 / mean(others)
    differences = [scale * (one - other) for one, other in zip(ones, others, strict=True)]
    return mean_of(differences).text(2, sign=True)
