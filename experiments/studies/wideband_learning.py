"""Learning over a band: one set of devices for all subcarriers, beside a set for each.

The paper's network, a band of 16 subcarriers with 4 taps, σ² = 1. "own sets" is dual pursuit on
every subcarrier by itself, "mean" and "each" are dual pursuit over the band with that criterion,
all at the same γ. "own, fewer" are the own sets without their weakest devices, each at most as
large as the one set of "mean" in that round. They differ from the own sets in the number of
devices; from "mean", in that each entry of the model comes from other devices, with less noise.

"heard" are the devices in the sum of an entry, and after the slash those that train and send
anything. ± is the standard error, of differences that on the same seeds.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from airsched_client import SchedulerClient
from airsched_client.federated.channels import Channels, NetworkParameters
from airsched_client.federated.comparison import compare
from airsched_client.federated.experiment import PERFECT, Experiment, PolicyFunction
from airsched_client.federated.partition import PartitionParameters
from airsched_client.federated.policies import zero_forcing
from airsched_client.federated.statistics import mean_difference, mean_of
from airsched_client.federated.tasks import Task
from airsched_client.federated.tasks.digits import Digits
from airsched_client.federated.tasks.regression import Regression
from airsched_client.models import Schedule
from airsched_client.options import ScheduleOptions, WidebandOptions
from app.scheduling.types import ComplexArray, RealArray
from lab.service import running_command

BAND = NetworkParameters(subcarriers=16, taps=4)
CASES = (
    ("digits", 0.5, (10.0, 20.0)),
    ("digits", 0.1, (10.0,)),
    ("regression", np.inf, (10.0,)),
)
"""Task, label skew β, and tolerances; the regression has as many features as a device has data."""
TASKS: dict[str, Callable[[], Task]] = {
    "digits": Digits,
    "regression": partial(Regression, features=100),
}
SEEDS = tuple(range(100, 113))
ROUNDS = 12
PAIRS = (("mean", "own"), ("each", "own"), ("fewer", "own"), ("mean", "fewer"))


def main() -> None:
    table = Table(title=f"accuracy after {ROUNDS} rounds, {len(SEEDS)} seeds")
    for name in ("task, β", "γ", "perfect", "own sets", "heard", "mean", "heard"):
        table.add_column(name)
    for one, other in PAIRS:
        table.add_column(f"{one} − {other}", justify="right")
    with running_command(log_level="warning") as (_, url), SchedulerClient(url) as scheduler:
        for task, skew, gammas_db in CASES:
            perfect = learn(scheduler, task, skew, None)
            for gamma_db in gammas_db:
                found = learn(scheduler, task, skew, gamma_db)
                name = f"{task}, {skew:g}"
                table.add_row(name, f"{gamma_db:g} dB", *row({**perfect, **found}))
    Console(width=150).print(table)


class Learnt(NamedTuple):
    """Of one policy: final accuracies by seed, and devices per entry and in all."""

    accuracies: RealArray
    per_entry: RealArray
    in_all: RealArray


def learn(
    scheduler: SchedulerClient, task: str, skew: float, gamma_db: float | None
) -> dict[str, Learnt]:
    """Run all policies at a tolerance, or without one those that take none."""
    sizes: dict[str, list[float]] = defaultdict(list)
    experiment = Experiment(
        policies=(PERFECT,) if gamma_db is None else _policies(scheduler, gamma_db, sizes),
        seeds=SEEDS,
        rounds=ROUNDS,
        network=BAND,
        partition=PartitionParameters(label_concentration=skew),
    )
    records = compare(experiment, scheduler, task=TASKS[task]()).records
    return {
        policy: Learnt(
            # A model that overflowed has accuracy 0.
            np.array([each.accuracy or 0.0 for each in own if each.round == ROUNDS - 1]),
            np.array(sizes[policy]),
            np.array([len(each.active) for each in own]),
        )
        for policy in experiment.names
        for own in [[record for record in records if record.policy == policy]]
    }


def row(found: Mapping[str, Learnt]) -> list[str]:
    """Return accuracies, devices and differences as text."""
    cells = [mean_of(found[PERFECT].accuracies).text()]
    for name in ("own", "mean"):
        learnt = found[name]
        cells.append(mean_of(learnt.accuracies).text())
        cells.append(f"{learnt.per_entry.mean():.1f} / {learnt.in_all.mean():.1f}")
    for one, other in PAIRS:
        paired = mean_difference(found[one].accuracies, found[other].accuracies)
        cells.append(paired.text(sign=True))
    return cells


def _policies(
    scheduler: SchedulerClient, gamma_db: float, sizes: dict[str, list[float]]
) -> list[PolicyFunction]:
    """Return what is compared; every round's mean number of devices per entry goes to ``sizes``."""

    def noted(name: str, schedules: Sequence[Schedule]) -> Sequence[Schedule]:
        sizes[name].append(float(np.mean([each.active.size for each in schedules] or [0])))
        return schedules

    def own_sets(channels: Channels, options: ScheduleOptions) -> Sequence[Schedule]:
        options = {**options, "gamma_db": gamma_db, "algorithm": "dual_pursuit"}
        return scheduler.schedule_batch(channels.estimates, **options)

    def one_set(
        channels: Channels, options: ScheduleOptions, criterion: Literal["mean", "each"]
    ) -> Sequence[Schedule]:
        band = WidebandOptions(**options, gamma_db=gamma_db, criterion=criterion)
        return scheduler.schedule_wideband(channels.estimates, **band).subcarriers()

    def own(channels: Channels, options: ScheduleOptions) -> Sequence[Schedule]:
        return noted("own", own_sets(channels, options))

    def fewer(channels: Channels, options: ScheduleOptions) -> Sequence[Schedule]:
        one = one_set(channels, options, "mean")
        most = one[0].active.size if one else 0
        sets = zip(channels.estimates, own_sets(channels, options), strict=True) if one else ()
        return noted("fewer", [_strongest(most, *each, options) for each in sets])

    def mean(channels: Channels, options: ScheduleOptions) -> Sequence[Schedule]:
        return noted("mean", one_set(channels, options, "mean"))

    def each(channels: Channels, options: ScheduleOptions) -> Sequence[Schedule]:
        return noted("each", one_set(channels, options, "each"))

    return [own, fewer, mean, each]


def _strongest(
    most: int, matrix: ComplexArray, schedule: Schedule, options: ScheduleOptions
) -> Schedule:
    """Return the schedule of those, at most so many, whom its receiver hears best."""
    if schedule.receiver is None or schedule.active.size <= most:
        return schedule
    heard = np.abs(schedule.receiver.conj() @ matrix) / np.asarray(options["weights"])
    active = sorted(schedule.active, key=lambda device: -heard[device])[:most]
    return zero_forcing(matrix, schedule.receiver, active, weights=options["weights"])
