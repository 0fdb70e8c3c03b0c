"""How far dual pursuit may be from the best for 200 to 1000 devices.

Beside its default effort: the same with 100 and with 1000 starts; elastic dropping, a published
method for the largest feasible subsystem (:mod:`lab.rivals.elastic`); dc once and the bound of the
relaxation, which no receiver exceeds, where they take less than minutes. The seed played no part in
choosing the search's constants.
"""

import time
from collections.abc import Callable

from airsched_client.federated.statistics import Mean, mean_difference, mean_of
from app.scheduling import Problem, solve
from app.scheduling.bounding import relaxation_bound
from app.scheduling.pursuit import STARTS, pursue
from app.scheduling.scheduler import Context
from app.warmup import warm_up
from lab.problems import ChannelModel, problems_of
from lab.rivals.elastic import most_served

SEED = 30503
CASES: tuple[tuple[ChannelModel, int, int, float, int], ...] = (
    ("iid", 16, 200, -3.0, 8),
    ("iid", 16, 200, 0.0, 8),
    ("network", 16, 200, 8.0, 8),
    ("iid", 32, 400, -3.0, 4),
    ("iid", 64, 1000, -3.0, 3),
    ("iid", 64, 1000, 0.0, 3),
    ("network", 64, 1000, 5.0, 3),
)
"""Channels, N, K, γ in decibels, and how many channels."""

MOST_DEVICES = {"dc": 200, "bound": 400}
"""Methods that take minutes for more devices."""

ONCE = ("dc",)
"""Run on the first channel only."""

LONG, LONGEST = 100, 1000


def _pursued(problem: Problem, seed: int, starts: int) -> float:
    receiver, _, _ = pursue(problem, Context(seed), starts)
    return float(problem.served(receiver).sum())


METHODS: dict[str, Callable[[Problem, int], float]] = {
    "default": lambda problem, seed: _pursued(problem, seed, STARTS),
    f"{LONG} starts": lambda problem, seed: _pursued(problem, seed, LONG),
    f"{LONGEST} starts": lambda problem, seed: _pursued(problem, seed, LONGEST),
    "elastic": most_served,
    "dc": lambda problem, seed: solve(problem, "dc", seed=seed).active.size,
    "bound": lambda problem, seed: relaxation_bound(problem, _pursued(problem, seed, STARTS)),
}


def main() -> None:
    """Print the devices of every method per case, its seconds, and the gaps."""
    warm_up()
    for model, antennas, devices, decibels, count in CASES:
        names = [name for name in METHODS if devices <= MOST_DEVICES.get(name, devices)]
        found: dict[str, list[float]] = {name: [] for name in names}
        seconds = dict.fromkeys(names, 0.0)
        for seed, problem in enumerate(
            problems_of(model, count, antennas, devices, decibels, SEED)
        ):
            for name in names:
                if name in ONCE and seed > 0:
                    continue
                begun = time.thread_time()
                found[name].append(METHODS[name](problem, seed))
                seconds[name] += time.thread_time() - begun
        print(f"{model} {antennas}×{devices}, {decibels:g} dB, {count} channels:")
        default = found["default"]
        for name in names:
            own = found[name]
            gap, served = mean_difference(default[: len(own)], own), mean_of(own)
            percent = Mean(100 * gap.value / served.value, 100 * gap.error / served.value)
            print(
                f"  {name:11} {served.text(1)} in {seconds[name] / len(own):.3g} s; "
                f"default − it: {percent.text(2, sign=True)} %",
                flush=True,
            )
