"""What ``age`` and ``weight`` priorities bring to learning: for all devices, and for the worst.

Digits, the paper's network, dual pursuit at 10 dB, 30 rounds, by label skew β and by whether the
fading changes. A device's accuracy is that on the test images, weighted by the labels it holds. ±
is the standard error of the difference to no priorities on the same seeds.
"""

from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from airsched_client import SchedulerClient
from airsched_client.federated.experiment import Experiment, Record
from airsched_client.federated.loop import Setting
from airsched_client.federated.partition import PartitionParameters
from airsched_client.federated.statistics import mean_difference
from airsched_client.federated.tasks.digits import Digits
from app.scheduling.types import RealArray
from lab.service import running_command

SEEDS = range(12)
ROUNDS = 30
GAMMA_DB = 10.0
RULES = (None, "age", "weight")
SETTINGS = ((0.5, 1), (0.1, 1), (0.1, ROUNDS))
"""β, and rounds between changes of the fading."""


class Outcome(NamedTuple):
    """Of one run."""

    mean: float
    worst: float
    heard: float
    """Devices that took part at least once."""


def main() -> None:
    table = Table(title=f"{len(SEEDS)} seeds, {ROUNDS} rounds, {GAMMA_DB:g} dB")
    table.add_column("β")
    table.add_column("fading")
    table.add_column("priorities")
    for name in ("accuracy", "difference", "worst device", "difference", "devices heard"):
        table.add_column(name, justify="right")
    with (
        running_command(log_level="warning") as (_, url),
        SchedulerClient(url) as scheduler,
        Progress(transient=True) as progress,
    ):
        bar = progress.add_task("runs", total=len(SETTINGS) * len(RULES) * len(SEEDS))
        for skew, coherence in SETTINGS:
            found = {}
            for rule in RULES:
                outcomes = []
                for seed in SEEDS:
                    outcomes.append(_run(skew, coherence, rule, seed, scheduler))
                    progress.advance(bar)
                found[rule] = np.array(outcomes)
            for rule, values in found.items():
                table.add_row(*_row(skew, coherence, rule, values, found[None]))
    Console(width=120).print(table)


def _run(
    skew: float, coherence: int, rule: str | None, seed: int, scheduler: SchedulerClient
) -> Outcome:
    policy = "dual_pursuit" if rule is None else f"dual_pursuit:priorities={rule}"
    experiment = Experiment(
        policies=(policy,),
        gammas_db=(GAMMA_DB,),
        seeds=(seed,),
        rounds=ROUNDS,
        coherence=coherence,
        partition=PartitionParameters(label_concentration=skew),
    )
    task = Digits()
    setting, (run,) = Setting(experiment, task, seed), experiment.runs()
    model = setting.initial()
    done: list[Record] = []
    for _ in range(ROUNDS):
        model, record = setting.round(run, model, done, scheduler)
        done.append(record)
    by_label = task.accuracy_by_label(model.parameters)
    worst = min(float(by_label[task.labels[part]].mean()) for part in setting.parts)
    heard = len({device for record in done for device in record.active})
    return Outcome(done[-1].accuracy or 0.0, worst, heard)


def _row(
    skew: float, coherence: int, rule: str | None, values: RealArray, usual: RealArray
) -> list[str]:
    pairs = zip(values.T[:2], usual.T, strict=False)
    found = [mean_difference(one, other).text(sign=True) for one, other in pairs]
    differences = ["", ""] if rule is None else found
    mean, worst, heard = values.mean(axis=0)
    return [
        f"{skew:g}",
        "changes" if coherence == 1 else "stays",
        rule or "none",
        f"{mean:.3f}",
        differences[0],
        f"{worst:.3f}",
        differences[1],
        f"{heard:.1f}",
    ]
