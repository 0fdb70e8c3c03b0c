"""Channels with structure: share of the optimum, or of the best known for many devices.

Independent fading is easy: any few channels are nearly orthogonal, and all are about as strong.
Here they are not (:data:`STRUCTURES`). For K = 20, N = 6 the optimum is proven by ``optimal``; for
K = 100, N = 16 the best known is dual pursuit with 1000 starts, or whatever serves more. The
tolerances are such that a few, and most, of the devices are served. dc takes seconds per channel
for K = 100, and is left out there.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from airsched_client.federated.statistics import mean_of
from app.scheduling import Parameters, Problem, solve
from app.scheduling.schedulers.dual_pursuit import DualPursuitParameters
from app.scheduling.types import ComplexArray
from app.warmup import warm_up
from lab.channels import iid_channels

SEED = 30505
SMALL, LARGE = (6, 20), (16, 100)
"""N and K."""

CHANNELS = {SMALL: 20, LARGE: 6}

Draw = Callable[[np.random.Generator, int, int], ComplexArray]


def low_rank(rng: np.random.Generator, antennas: int, devices: int) -> ComplexArray:
    """All channels in a space of a third of the dimensions."""
    rank = antennas // 3
    return np.asarray(iid_channels(rng, antennas, rank) @ iid_channels(rng, rank, devices))


def clusters(rng: np.random.Generator, antennas: int, devices: int) -> ComplexArray:
    """One cluster for every five devices, within each the channels differ by 1 % of their power."""
    centres = iid_channels(rng, antennas, devices // 5)
    own = rng.integers(0, devices // 5, devices)
    phases = np.exp(2j * np.pi * rng.random(devices))
    return np.asarray(centres[:, own] * phases + 0.1 * iid_channels(rng, antennas, devices))


def near_and_far(rng: np.random.Generator, antennas: int, devices: int) -> ComplexArray:
    """Gains that spread evenly over 60 dB."""
    return np.asarray(iid_channels(rng, antennas, devices) * 10 ** rng.uniform(-1.5, 1.5, devices))


def small_spread(rng: np.random.Generator, antennas: int, devices: int) -> ComplexArray:
    """Twenty paths within two degrees of each device's direction; half a wavelength apart."""
    centres = rng.uniform(-np.pi / 3, np.pi / 3, devices)
    angles = centres + np.deg2rad(rng.uniform(-2, 2, (20, devices)))
    steering = np.exp(1j * np.pi * np.arange(antennas)[:, None, None] * np.sin(angles))
    return np.asarray((steering * iid_channels(rng, 20, devices)).sum(axis=1) / np.sqrt(20))


class Structure(NamedTuple):
    """Channels, and the two tolerances in decibels at which they are studied, by size."""

    draw: Draw
    gammas_db: dict[tuple[int, int], tuple[float, float]]


STRUCTURES = {
    "independent": Structure(iid_channels, {SMALL: (-4, -1), LARGE: (-6, -3)}),
    "low rank": Structure(low_rank, {SMALL: (-4, -1), LARGE: (-8, -4)}),
    "clusters": Structure(clusters, {SMALL: (-4, -1), LARGE: (-6, -3)}),
    "60 dB near and far": Structure(near_and_far, {SMALL: (-8, 8), LARGE: (-10, 10)}),
    "2° angular spread": Structure(small_spread, {SMALL: (-4, -1), LARGE: (-6, -3)}),
}

METHODS: dict[str, tuple[str, Parameters | None]] = {
    "dual_pursuit": ("dual_pursuit", None),
    "100 starts": ("dual_pursuit", DualPursuitParameters(100)),
    "dc": ("dc", None),
    "matching_pursuit": ("matching_pursuit", None),
}


def main() -> None:
    """Print a table per size."""
    warm_up()
    console = Console(width=130)
    for size, count in CHANNELS.items():
        antennas, devices = size
        table = Table(title=f"K = {devices}, N = {antennas}, {count} channels: share of the best")
        methods = [name for name in METHODS if size == SMALL or name != "dc"]
        for name in ("channels", "γ [dB]", "best", *methods, "dual_pursuit misses"):
            table.add_column(name, justify="right")
        for name, structure in track(STRUCTURES.items(), f"K = {devices}", transient=True):
            for gamma_db in structure.gammas_db[size]:
                found = _measured(structure.draw, size, gamma_db, count, methods)
                best = found.max(axis=1)
                shares = found / best[:, None]
                table.add_row(
                    name,
                    f"{gamma_db:g}",
                    f"{best.mean():.1f}",
                    *(mean_of(column).text(3) for column in shares[:, 1:].T),
                    f"{np.count_nonzero(found[:, 1] < best)}",
                )
        console.print(table)


def _measured(
    draw: Draw, size: tuple[int, int], gamma_db: float, count: int, methods: list[str]
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return the sizes of the sets: the proven or best known first, then the methods'."""
    rows = []
    for seed in range(count):
        channels = draw(np.random.default_rng([SEED, seed]), *size)
        problem = Problem(channels, np.ones(size[1]), 10 ** (gamma_db / 10))
        if size == SMALL:
            proven = solve(problem, "optimal")
            if proven.upper_bound != proven.active.size:
                raise RuntimeError(f"no proof at {gamma_db:g} dB, seed {seed}")
            best = proven.active.size
        else:
            best = solve(problem, "dual_pursuit", DualPursuitParameters(1000)).active.size
        others = [
            solve(problem, name, parameters, seed=seed).active.size
            for name, parameters in (METHODS[method] for method in methods)
        ]
        rows.append([best, *others])
    return np.array(rows, float)
