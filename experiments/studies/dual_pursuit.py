"""Dual pursuit beside the optimum, for many devices, and from round to round.

How it compares with every other algorithm in the paper's settings is in ``selection``.

Compare times only within one run.
"""

import itertools
import time
from collections.abc import Callable, Iterable

import numpy as np
from rich.progress import track

from app.scheduling import SCHEDULERS, solve
from app.scheduling.problem import Problem
from app.scheduling.scheduler import Context
from app.scheduling.schedulers import dual_pursuit, matching_pursuit
from app.scheduling.schedulers.dual_pursuit import DualPursuitParameters
from app.scheduling.schedulers.matching_pursuit import MatchingPursuitParameters
from app.scheduling.types import ComplexArray
from lab.channels import iid_channels
from lab.oracles.exhaustive import most_devices
from lab.problems import iid_problems

Solver = Callable[[Problem, Context], int]


# The search's constants were chosen on other channels than these.
SEED = 1


def compiled_matching_pursuit(problem: Problem, context: Context) -> int:
    selection = matching_pursuit.select(problem, MatchingPursuitParameters(), context)
    return int(selection.active.sum())


def dual(starts: int | None = None) -> Solver:
    parameters = DualPursuitParameters() if starts is None else DualPursuitParameters(starts)

    def run(problem: Problem, context: Context) -> int:
        return int(dual_pursuit.select(problem, parameters, context).active.sum())

    return run


def measure(problems: Iterable[Problem], *solvers: Solver) -> list[tuple[float, float, list[int]]]:
    """Return for each solver its mean |S|, median milliseconds, and every |S|."""
    counts: list[list[int]] = [[] for _ in solvers]
    times: list[list[float]] = [[] for _ in solvers]
    for seed, problem in enumerate(problems):
        for index, solver in enumerate(solvers):
            begun = time.perf_counter()
            counts[index].append(solver(problem, Context(seed)))
            times[index].append(time.perf_counter() - begun)
    return [
        (float(np.mean(count)), float(np.median(elapsed)) * 1e3, count)
        for count, elapsed in zip(counts, times, strict=True)
    ]


def optimum(problem: Problem, context: Context) -> int:
    return most_devices(problem)


def small() -> None:
    print("share of 100 problems where it equals the exhaustive search, K ≤ 10;")
    print("and how far above that search any algorithm came, at most")
    others = [name for name, found in SCHEDULERS.items() if found.keeps_tolerance]
    for antennas, devices in itertools.product((3, 6), (6, 8, 10)):
        for decibels in (-6, -3, 0, 3):
            problems = iid_problems(100, antennas, devices, decibels, SEED)
            (_, _, own), (_, _, best) = measure(problems, dual(), optimum)
            share = np.mean(np.equal(own, best))
            most = max(
                solve(problem, name).active.size - size
                for problem, size in zip(problems, best, strict=True)
                for name in others
            )
            print(f"  N={antennas} K={devices:2d} {decibels:3d} dB: {share:.2f}, {most:+d}")


def scale() -> None:
    print("N=32, iid, 3 channels: mean |S| and median ms")
    for decibels in (0, 5, 10):
        last = None
        for devices in (100, 400, 1600):
            problems = iid_problems(3, 32, devices, decibels, SEED)
            default, pursuit = measure(problems, dual(), compiled_matching_pursuit)
            growth = "" if last is None else f", {default[1] / last:.1f}× the time before"
            last = default[1]
            print(
                f"  {decibels:2d} dB, K={devices:4d}: dual {default[0]:7.1f} {default[1]:8.1f} ms, "
                f"matching {pursuit[0]:7.1f} {pursuit[1]:8.1f} ms{growth}"
            )


def warm() -> None:
    print("Channels correlated from round to round (ρ=0.99), 300 rounds, K=20, N=6")
    print("   γ dB | cold: |S|, ms | warm, same starts | warm, one less | warm, two less")
    default = DualPursuitParameters()
    less, fewer = DualPursuitParameters(4), DualPursuitParameters(3)
    for decibels in (-4, -1, 2):
        totals = np.zeros((4, 2))
        rng = np.random.default_rng(3)
        channels = iid_channels(rng, 6, 20)
        receivers: list[ComplexArray | None] = [None, None, None, None]
        for seed in range(300):
            channels = 0.99 * channels + np.sqrt(1 - 0.99**2) * iid_channels(rng, 6, 20)
            problem = Problem(channels, np.ones(20), 10 ** (decibels / 10))
            for index, parameters in enumerate((default, default, less, fewer)):
                context = Context(seed, warm_start=receivers[index] if index else None)
                begun = time.perf_counter()
                selection = dual_pursuit.select(problem, parameters, context)
                elapsed = (time.perf_counter() - begun) * 1e3
                totals[index] += selection.active.sum() / 300, elapsed / 300
                receivers[index] = selection.receiver
        print(f"{decibels:7d} | " + " | ".join(f"{a:6.2f} {b:7.3f}" for a, b in totals))


def main() -> None:
    dual()(iid_problems(1, 6, 20, 0, SEED)[0], Context())
    compiled_matching_pursuit(iid_problems(1, 6, 20, 0, SEED)[0], Context())
    for table in track((small, scale, warm), "dual pursuit", transient=True):
        table()
