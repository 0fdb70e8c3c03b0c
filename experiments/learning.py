"""Federated learning for the figures: one call trains some policies on one seed.

The paper's curves have one point per epoch and are smooth from the last epoch of a round to the
first of the next; they bend only where the schedule changes. So we assume that models are added up
after every epoch, and that one of its six "communication rounds" is the ten epochs for which the
channel stays the same: ``coherence``.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from airsched_client.client import SchedulerClient
from airsched_client.federated.comparison import compare
from airsched_client.federated.experiment import Experiment, Record
from airsched_client.federated.tasks import Task
from experiments.digest import key
from experiments.figure import Scale
from experiments.patches import Patches
from experiments.runner import Runner
from lab.service import running_command

NOISE_VARIANCE = 0.01
"""σ² at P = 1; the paper gives none."""
Setting = dict[str, float]
LINEAR: dict[Scale, Setting] = {
    "quick": {"samples": 50_000, "rounds": 12, "coherence": 2},
    "paper": {"samples": 50_000, "rounds": 60, "coherence": 10},
}
"""Training images, epochs, and epochs per channel, of a linear layer on fixed features."""
LINEAR_SEEDS: dict[Scale, range] = {"quick": range(3), "paper": range(15)}
NETWORK: dict[Scale, Setting] = {
    "quick": {"samples": 50_000, "rounds": 12, "coherence": 10, "width": 0.5},
    "paper": {"samples": 50_000, "rounds": 60, "coherence": 10, "width": 1.0},
}
"""The same of the paper's network, and its width as a share of the paper's."""
NETWORK_SEEDS: dict[Scale, range] = {"quick": range(3), "paper": range(3)}

Epochs = dict[str, list[float]]
"""accuracy, loss, train_loss and active → one value per epoch."""


class MissingDataError(FileNotFoundError):
    """CIFAR-10 is missing."""


def train(
    task: str,
    policies: Sequence[str],
    gammas_db: Sequence[float],
    seed: int,
    noise_variance: float,
    *,
    data: str,
    checkpoints: str,
    **setting: float,
) -> list[dict[str, Any]]:
    """Train every policy at every tolerance over the air; return the epochs of every run.

    An interrupted call resumes after its last epoch: see ``checkpoints``.

    Parameters
    ----------
    data
        Folder of CIFAR-10.
    checkpoints
        Folder of the checkpoints of all calls.
    setting
        As in :data:`NETWORK`.
    """
    call = {
        "task": task,
        "policies": list(policies),
        "gammas_db": list(gammas_db),
        "seed": seed,
        "noise_variance": noise_variance,
    }
    experiment = Experiment(
        task=task,
        policies=tuple(policies),
        gammas_db=tuple(gammas_db),
        seeds=(seed,),
        rounds=int(setting["rounds"]),
        coherence=int(setting["coherence"]),
        noise_variance=noise_variance,
    )
    folder = Path(checkpoints) / key(train, {**call, **setting})
    learnt = _task(task, data, setting)
    # The same sums in the same order everywhere; calls run in parallel instead.
    with (
        threadpool_limits(1),
        running_command(log_level="warning") as (_, url),
        SchedulerClient(url) as scheduler,
    ):
        # The sweep has a bar of its own.
        records = compare(
            experiment,
            scheduler,
            folder,
            resume=True,
            task=learnt,
            on_round=lambda record: None,
        ).records
    return [
        {
            "policy": run.policy,
            "gamma_db": run.gamma_db,
            **epochs([record for record in records if record.run == run]),
        }
        for run in experiment.runs()
    ]


def learn(
    runner: Runner,
    task: str,
    seeds: range,
    setting: Setting,
    sets: Sequence[tuple[Sequence[str], Sequence[float]]],
) -> dict[tuple[str, float | None], list[Epochs]]:
    """Return the epochs of every seed, by policy and tolerance.

    Parameters
    ----------
    sets
        Policies and their tolerances, each one call per seed.
    """
    if runner.data is None:
        raise MissingDataError("CIFAR-10 is missing: give its folder with --data")
    calls = [
        {
            "task": task,
            "policies": list(policies),
            "gammas_db": list(gammas_db),
            "seed": seed,
            "noise_variance": NOISE_VARIANCE,
            **setting,
        }
        for seed in seeds[: runner.seeds]
        for policies, gammas_db in sets
    ]
    results = runner.sweep(
        task,
        train,
        calls,
        data=str(runner.data.resolve()),
        checkpoints=str((runner.cache / "checkpoints").resolve()),
    )
    found: dict[tuple[str, float | None], list[Epochs]] = {}
    for runs in results:
        for run in runs:
            # What overflowed is None in JSON; it becomes NaN, and so does a mean with it.
            values = {
                name: [np.nan if value is None else value for value in run[name]]
                for name in ("accuracy", "loss", "train_loss", "active")
            }
            found.setdefault((run["policy"], run["gamma_db"]), []).append(values)
    return found


def _task(name: str, data: str, setting: Setting) -> Task:
    if name == "cifar10":
        # If torch is missing, the error says what to install.
        import torch

        from airsched_client.federated.tasks.cifar10 import Cifar10

        torch.set_num_threads(1)
        return Cifar10(
            Path(data),
            samples=int(setting["samples"]),
            epochs=1,
            width=setting["width"],
        )
    return Patches(Path(data), samples=int(setting["samples"]), epochs=1)


def epochs(records: Sequence[Record]) -> dict[str, list[float | None]]:
    """Return the :data:`Epochs` of a run; what overflowed is None."""
    return {
        "accuracy": [record.accuracy for record in records],
        "loss": [record.loss for record in records],
        "train_loss": [record.train_loss for record in records],
        "active": [len(record.active) for record in records],
    }
