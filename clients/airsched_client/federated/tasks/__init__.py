"""Learning tasks: one file per task, listed here by name.

A task holds the data, trains one device at a time and evaluates the global model. Models are flat
vectors, (D,) real, so the loop and the air need not know their structure.
"""

from collections.abc import Callable
from pathlib import Path

from airsched_client.federated.tasks.task import (
    Describes,
    EvaluatesDevices,
    Evaluation,
    HasLabels,
    HasModule,
    HasParts,
    HasStatistics,
    LocalRound,
    NamesAccuracy,
    Task,
)

__all__ = [
    "TASKS",
    "Describes",
    "EvaluatesDevices",
    "Evaluation",
    "HasLabels",
    "HasModule",
    "HasParts",
    "HasStatistics",
    "LocalRound",
    "NamesAccuracy",
    "Task",
    "build",
]


def _regression(data: Path | None, samples: int | None, epochs: int | None) -> Task:
    from airsched_client.federated.tasks.regression import Regression

    return Regression(samples=samples or 2000)


def _digits(data: Path | None, samples: int | None, epochs: int | None) -> Task:
    from airsched_client.federated.tasks.digits import Digits

    return Digits(samples=samples, epochs=epochs or 5)


def _cifar10(data: Path | None, samples: int | None, epochs: int | None) -> Task:
    if data is None:
        raise ValueError("cifar10 needs its data: pass the folder that holds cifar-10-batches-py")
    from airsched_client.federated.tasks.cifar10 import Cifar10

    return Cifar10(data, samples=samples, epochs=epochs or 10)


# Imported on demand: digits needs scikit-learn, cifar10 needs torch.
TASKS: dict[str, Callable[[Path | None, int | None, int | None], Task]] = {
    "digits": _digits,
    "regression": _regression,
    "cifar10": _cifar10,
}


def build(
    name: str, data: Path | None = None, samples: int | None = None, epochs: int | None = None
) -> Task:
    """Return the task of that name.

    Parameters
    ----------
    data
        Folder of its data, for tasks that need one.
    samples
        Number of training samples to use; the task's default if None.
    epochs
        Local passes over the data per round; the task's default if None.
    """
    if name not in TASKS:
        raise ValueError(f"no task {name!r}: choose from {', '.join(TASKS)}")
    return TASKS[name](data, samples, epochs)
