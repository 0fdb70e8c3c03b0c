"""Learning over a band: one set of devices for all subcarriers, beside a set for each.

Digits on the paper's network, a band of 16 subcarriers with 4 taps, label skew β = 0.5. With sets
of their own, subcarriers serve more devices, but each entry of the model is averaged over others.
``one set`` is dual pursuit over the band with either criterion, ``own sets`` dual pursuit on every
subcarrier, all at the same γ. ± is the standard error of the difference on the same seeds.
"""

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from airsched_client import SchedulerClient
from airsched_client.federated.channels import Channels, NetworkParameters
from airsched_client.federated.comparison import compare
from airsched_client.federated.experiment import (
    PERFECT,
    Experiment,
    PolicyFunction,
    Record,
    Scheduled,
)
from airsched_client.federated.statistics import mean_difference
from airsched_client.models import Schedule
from airsched_client.options import ScheduleOptions, WidebandOptions
from app.scheduling.types import RealArray
from lab.service import running_command

BAND = NetworkParameters(subcarriers=16, taps=4)
GAMMAS_DB = (5.0, 10.0, 20.0)
NOISE_VARIANCE = 1.0
SEEDS = tuple(range(10))
ROUNDS = 12


def main() -> None:
    table = Table(
        title=f"accuracy after {ROUNDS} rounds, {len(SEEDS)} seeds, σ² = {NOISE_VARIANCE:g}"
    )
    for name in ("γ", "perfect", "own sets", "one set, mean", "one set, each"):
        table.add_column(name, justify="right")
    table.add_column("mean − own", justify="right")
    table.add_column("each − own", justify="right")
    with running_command(log_level="warning") as (_, url), SchedulerClient(url) as scheduler:
        for gamma_db in GAMMAS_DB:
            table.add_row(*_row(scheduler, gamma_db))
    Console(width=120).print(table)


def _policies(scheduler: SchedulerClient, gamma_db: float) -> list[PolicyFunction]:
    def own(channels: Channels, options: ScheduleOptions) -> tuple[Schedule, ...]:
        options |= {"gamma_db": gamma_db, "algorithm": "dual_pursuit"}
        return scheduler.schedule_batch(channels.estimates, **options)

    def mean(channels: Channels, options: ScheduleOptions) -> Scheduled:
        band = WidebandOptions(**options, gamma_db=gamma_db, criterion="mean")
        return scheduler.schedule_wideband(channels.estimates, **band)

    def each(channels: Channels, options: ScheduleOptions) -> Scheduled:
        band = WidebandOptions(**options, gamma_db=gamma_db, criterion="each")
        return scheduler.schedule_wideband(channels.estimates, **band)

    return [own, mean, each]


def _row(scheduler: SchedulerClient, gamma_db: float) -> list[str]:
    experiment = Experiment(
        policies=(PERFECT, *_policies(scheduler, gamma_db)),
        seeds=SEEDS,
        rounds=ROUNDS,
        noise_variance=NOISE_VARIANCE,
        network=BAND,
    )
    with Progress(transient=True) as progress:
        total = len(experiment.runs()) * experiment.rounds
        bar = progress.add_task(f"γ = {gamma_db:g} dB", total=total)
        records = compare(
            experiment, scheduler, on_round=lambda record: progress.advance(bar)
        ).records
    own, mean, each = (_accuracies(records, name) for name in ("own", "mean", "each"))
    return [
        f"{gamma_db:g} dB",
        f"{_accuracies(records, PERFECT).mean():.3f}",
        *(f"{found.mean():.3f}" for found in (own, mean, each)),
        mean_difference(mean, own).text(sign=True),
        mean_difference(each, own).text(sign=True),
    ]


def _accuracies(records: list[Record], policy: str) -> RealArray:
    """Return the final accuracy of each seed; 0 for a model that overflowed."""
    last = [record for record in records if record.policy == policy and record.round == ROUNDS - 1]
    return np.array([record.accuracy or 0.0 for record in last])
