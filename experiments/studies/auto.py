"""The policy ``auto`` beside every fixed tolerance, which a controller would have to know.

Digits, the paper's network, 15 rounds, label skew β = 0.5. ζ is the accuracy over that of
``perfect``; the best fixed tolerance is the one with the largest mean ζ in hindsight. The last
column chooses it for each half of the seeds by the other half, as a controller could that had tried
them all before. ± is the standard error of the difference on the same seeds. The results are kept
in ``build/auto``, where an interrupted run resumes.
"""

from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from airsched_client import SchedulerClient
from airsched_client.federated.comparison import compare
from airsched_client.federated.experiment import AUTO, PERFECT, Experiment, Record
from airsched_client.federated.statistics import mean_difference
from app.scheduling.types import RealArray
from lab.service import running_command

NOISE_VARIANCES = (0.25, 4.0, 25.0)
GAMMAS_DB = (5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0)
SEEDS = tuple(range(12))
FOLDER = Path("build/auto")


def main() -> None:
    table = Table(title=f"ζ, {len(SEEDS)} seeds")
    for name in ("σ²", "best fixed γ", "ζ there", "at 10 dB", "auto", "|S|"):
        table.add_column(name, justify="right")
    table.add_column("auto − best", justify="right")
    table.add_column("auto − chosen on other seeds", justify="right")
    with running_command(log_level="warning") as (_, url), SchedulerClient(url) as scheduler:
        for noise_variance in NOISE_VARIANCES:
            table.add_row(*_row(noise_variance, scheduler))
    Console(width=120).print(table)


def _row(noise_variance: float, scheduler: SchedulerClient) -> list[str]:
    experiment = Experiment(
        policies=(PERFECT, AUTO, "dual_pursuit"),
        gammas_db=GAMMAS_DB,
        seeds=SEEDS,
        rounds=15,
        noise_variance=noise_variance,
    )
    folder = FOLDER / f"{noise_variance:g}"
    with Progress(transient=True) as progress:
        total = len(experiment.runs()) * experiment.rounds
        bar = progress.add_task(f"σ² = {noise_variance:g}", total=total)
        records = compare(
            experiment,
            scheduler,
            folder,
            resume=True,
            on_round=lambda record: progress.advance(bar),
        ).records
    perfect = _accuracies(records, PERFECT, None)
    fixed = {g: _accuracies(records, "dual_pursuit", g) / perfect for g in GAMMAS_DB}
    auto = _accuracies(records, AUTO, None) / perfect
    best = max(fixed, key=lambda gamma_db: fixed[gamma_db].mean())
    active = np.mean([len(record.active) for record in records if record.policy == AUTO])
    return [
        f"{noise_variance:g}",
        f"{best:g} dB",
        f"{fixed[best].mean():.3f}",
        mean_difference(fixed[10.0], fixed[best]).text(sign=True),
        f"{auto.mean():.3f}",
        f"{active:.1f}",
        mean_difference(auto, fixed[best]).text(sign=True),
        mean_difference(auto, _chosen_on_others(fixed)).text(sign=True),
    ]


def _chosen_on_others(fixed: dict[float, RealArray]) -> RealArray:
    """Return ζ of each seed at the tolerance that is best on the other half of the seeds."""
    found = np.empty(len(SEEDS))
    halves = (slice(0, None, 2), slice(1, None, 2))
    for half, other in (halves, halves[::-1]):
        best = max(fixed, key=lambda gamma_db: fixed[gamma_db][other].mean())
        found[half] = fixed[best][half]
    return found


def _accuracies(records: list[Record], policy: str, gamma_db: float | None) -> RealArray:
    """Return the final accuracy of each seed."""
    last = max(record.round for record in records)
    return np.array(
        [
            record.accuracy
            for seed in SEEDS
            for record in records
            if (record.run, record.round) == ((policy, gamma_db, seed), last)
        ]
    )
