"""One set of devices over a band: share of the optimum, and devices and time for wider bands.

Channels are tapped delay lines (:mod:`airsched_client.federated.band`): one tap is a flat band,
more make it selective. The tolerances of the second table let dual pursuit serve about nine in ten
devices; they were found on other channels. ± is the standard error over the channels. Times are of
one thread's processor, over that of the intersection, which solves every subcarrier alone.
"""

import time
from collections.abc import Iterator

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from airsched_client.federated.statistics import mean_of
from app.scheduling import WIDEBAND_SCHEDULERS, WidebandProblem, solve
from app.scheduling.types import RealArray
from app.scheduling.wideband.problem import Criterion
from app.warmup import warm_up
from lab.oracles.wideband_optimum import optimum
from lab.problems import band_problems, network_band_problems

CRITERIA: tuple[Criterion, ...] = ("mean", "each")
ALGORITHMS = ("dual_pursuit", "matching_pursuit", "intersection")
SMALL = ((60, 4, 3, 8), (20, 4, 4, 12))
"""Channels, subcarriers, antennas and devices, few enough to try every set."""
SETTINGS = (("iid", -1.0), ("iid", 2.0), ("network", 6.0), ("network", 16.0))
SEED = 28

CHANNELS = 60
TOLERANCES_DB: dict[tuple[int, int, int], dict[int, tuple[float, float]]] = {
    (4, 6, 20): {1: (-0.29, -0.29), 4: (0.29, 0.68), 16: (0.10, 0.68)},
    (16, 6, 20): {1: (-0.29, -0.10), 4: (0.49, 1.27), 16: (0.49, 1.46)},
    (64, 6, 20): {1: (-0.29, 0.10), 4: (0.49, 1.46), 16: (0.49, 1.86)},
    (16, 16, 100): {1: (0.68, 0.68), 4: (1.46, 2.05), 16: (1.66, 2.25)},
}
"""By subcarriers, antennas and devices: taps, and γ for the mean and for each."""


def main() -> None:
    warm_up()
    console = Console(width=150)
    console.print(_beside_the_optimum())
    console.print(_wider_bands())


def _beside_the_optimum() -> Table:
    table = Table(title="share of the optimum, found by trying every set; 4 taps")
    for name in ("K, N, F", "channels", "γ", "criterion", "optimum", *ALGORITHMS):
        table.add_column(name)
    cases = [(*size, *setting, c) for size in SMALL for setting in SETTINGS for c in CRITERIA]
    for count, subcarriers, antennas, devices, kind, gamma_db, criterion in track(
        cases, "share of the optimum", transient=True
    ):
        draw = band_problems if kind == "iid" else network_band_problems
        size = (subcarriers, antennas, devices)
        problems = draw(count, *size, gamma_db, SEED, criterion=criterion)
        best = np.array([optimum(problem) for problem in problems])
        shares = [_devices(problems, name)[0].sum() / best.sum() for name in ALGORITHMS]
        table.add_row(
            f"{devices}, {antennas}, {subcarriers}",
            f"{count} {kind}",
            f"{gamma_db:g} dB",
            criterion,
            f"{best.mean():.2f}",
            *(f"{share:.4f}" for share in shares),
        )
    return table


def _wider_bands() -> Table:
    table = Table(title=f"devices served and time, {CHANNELS} iid channels")
    for name in (
        "K, N, F",
        "taps",
        "criterion",
        *ALGORITHMS,
        "over intersection",
        "times its time",
    ):
        table.add_column(name)
    cases = list(_cases())
    for size, taps, criterion, gamma_db in track(cases, "wider bands", transient=True):
        subcarriers, antennas, devices = size
        problems = band_problems(
            CHANNELS, *size, gamma_db, SEED + 1, taps=taps, criterion=criterion
        )
        found = [_devices(problems, name) for name in ALGORITHMS]
        table.add_row(
            f"{devices}, {antennas}, {subcarriers}",
            str(taps),
            criterion,
            *(mean_of(served).text(2) for served, _ in found),
            mean_of(found[0][0] - found[2][0]).text(2),
            " / ".join(f"{seconds / found[2][1]:.2f}" for _, seconds in found[:2]),
        )
    return table


def _cases() -> Iterator[tuple[tuple[int, int, int], int, Criterion, float]]:
    for size, by_taps in TOLERANCES_DB.items():
        for taps, tolerances in by_taps.items():
            for criterion, gamma_db in zip(CRITERIA, tolerances, strict=True):
                yield size, taps, criterion, gamma_db


def _devices(problems: list[WidebandProblem], name: str) -> tuple[RealArray, float]:
    """Return how many devices each problem's schedule has, and the seconds for all."""
    parameters = WIDEBAND_SCHEDULERS[name].parameters()
    started = time.thread_time()
    served = [solve(problem, name, parameters).active.size for problem in problems]
    return np.array(served, float), time.thread_time() - started
