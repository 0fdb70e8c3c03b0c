"""Wrong estimates: how many devices the tolerance allows if it has to hold in the worst case.

iid channels with K = 20 and N = 6, γ = 2 dB, and estimates that are wrong by up to e in norm.
*Devices* is dual pursuit with ``csi_error``. *Former rule* asked of each device only that its gain
suffices whatever the error, |h_kᴴc| - e ≥ φ_k/√γ; it left out that ψ, set for the estimates, no
longer fits. *Its worst case* is the error that some channels within e then have, over the tolerable
one: at most 1 is the promise. ± is the standard error over the channels, and the difference is
paired. None of the channels was used to choose anything.
"""

import math

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from airsched_client.federated.statistics import mean_difference, mean_of
from app.scheduling import Problem, Schedule, solve
from app.warmup import warm_up
from lab.channels import iid_channels

CHANNELS = 200
SEED = 2600
GAMMA = 10**0.2
SIGNAL_TO_NOISE_DB = (10, 20, 30)
ERRORS = (0.02, 0.05, 0.10)


def main() -> None:
    """Print the table."""
    warm_up()
    table = Table(title=f"dual pursuit, K = 20, N = 6, γ = 2 dB, {CHANNELS} channels")
    for name in ("P/σ²", "e", "devices", "former rule", "difference", "its worst case"):
        table.add_column(name, justify="right")
    for decibels in SIGNAL_TO_NOISE_DB:
        for error in ERRORS:
            table.add_row(f"{decibels} dB", f"{error:.2f}", *_row(10 ** (decibels / 10), error))
    Console(width=100).print(table)


def _row(power: float, error: float) -> list[str]:
    rng = np.random.default_rng(SEED)
    devices, former, shares = [], [], []
    for seed in track(range(CHANNELS), f"{power:g}, {error:g}", transient=True):
        channels = iid_channels(rng, 6, 20)
        problem = Problem(channels, np.ones(20), GAMMA, power=power, csi_error=error)
        kept = solve(problem, "dual_pursuit", seed=seed)
        # A device that needs the gain (φ/√γ + e)² has the weight φ + e√γ.
        heavier = Problem(channels, np.full(20, 1 + error * math.sqrt(GAMMA)), GAMMA, power=power)
        promised = solve(heavier, "dual_pursuit", seed=seed)
        devices.append(float(kept.active.size))
        former.append(float(promised.active.size))
        shares.append(_worst_error(problem, promised) / problem.max_error)
    return [
        mean_of(devices).text(2),
        mean_of(former).text(2),
        mean_difference(devices, former).text(2, sign=True),
        mean_of(shares).text(2),
    ]


def _worst_error(problem: Problem, schedule: Schedule) -> float:
    """Return Σ φ_k²e²/g_k² + σ²/η for zero forcing on the estimates with φ = 1."""
    assert schedule.receiver is not None
    gains = np.abs(schedule.receiver.conj() @ problem.channels[:, schedule.active]) ** 2
    misfit = float(np.sum(problem.errors[schedule.active] ** 2 / gains))
    return misfit + problem.noise_variance / (problem.power * float(gains.min()))
