"""Many runs of one seed at once: linear layers side by side, as columns of one matrix.

The mathematics is that of :class:`~experiments.patches.Patches` in the client's
loop; a batch of images serves every run in which the device takes part, which is what saves the
time. The noise is added where it ends up, on the mean of the updates, with the deviation

    s √(E/2) / Σ_{k∈S} φ_k,   s the largest root mean square of the updates in S,

that the air gives it (:mod:`airsched_client.federated.air`). All runs of a seed see the same draws.

A run's **noise** says what E is: ``schedule``, the error of the schedule itself, as the air makes
it; or ``tolerated``, γσ²/P, whatever the schedule attains.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import sgemm  # type: ignore[import-untyped]
from threadpoolctl import threadpool_limits

from airsched_client.client import SchedulerClient
from airsched_client.federated.channels import Channels, NetworkParameters
from airsched_client.federated.experiment import AUTO, PERFECT, Experiment
from airsched_client.federated.fading import NetworkFading
from airsched_client.federated.partition import PartitionParameters, aggregation_weights, partition
from airsched_client.federated.scheduling import request_schedule
from airsched_client.federated.streams import Purpose, stream
from airsched_client.federated.tasks.cifar10_data import read
from airsched_client.options import ScheduleOptions
from experiments.patch_features import patch_features
from lab.service import running_command

Single = NDArray[np.float32]
Real = NDArray[np.float64]
Indices = NDArray[np.int64]

_PATCHES, _CLASSES, _BATCH = 200, 10, 32
_RATE, _MOMENTUM = np.float32(0.005), 0.9


class Run(NamedTuple):
    """One column."""

    policy: str
    gamma_db: float | None = None
    noise: str = "schedule"
    noise_variance: float = 0.0


class Round(NamedTuple):
    """Who takes part in a run, and the error of the sum of their updates, in units of s²."""

    active: Indices
    error: float


def train_together(
    seed: int, runs: list[Run], samples: int, rounds: int, coherence: int, *, data: str
) -> list[list[float]]:
    """Return the test accuracy of every run after each channel's last epoch.

    Parameters
    ----------
    samples, rounds, coherence
        Training images, epochs, and epochs per channel.
    data
        Folder of CIFAR-10.
    """
    runs = [Run(*run) for run in runs]
    folder = Path(data)
    training, test = patch_features(folder, _PATCHES)
    images = read(folder)
    labels = images.labels[:samples]
    inputs = np.array(training[:samples])
    parameters = NetworkParameters()
    parts = partition(
        labels, parameters.devices, PartitionParameters(), stream(seed, Purpose.PARTITION)
    )
    weights = aggregation_weights([part.size for part in parts])
    fading = NetworkFading(parameters, seed)
    model = np.zeros((inputs.shape[1] + 1, _CLASSES, len(runs)))
    accuracies: list[list[float]] = [[] for _ in runs]
    with (
        threadpool_limits(1),
        running_command(log_level="warning") as (_, url),
        SchedulerClient(url) as scheduler,
    ):
        for epoch in range(rounds):
            if epoch % coherence == 0:
                channels = fading.channels(epoch // coherence)
                now = [schedule(run, channels, weights, scheduler) for run in runs]
            takes_part = np.zeros((len(parts), len(runs)), bool)
            for column, one in enumerate(now):
                takes_part[one.active, column] = True
            change, scale = np.zeros_like(model), np.zeros(len(runs))
            for device, part in enumerate(parts):
                mine = np.flatnonzero(takes_part[device])
                if mine.size:
                    order = part[
                        stream(seed, Purpose.TRAINING, epoch, device).permutation(part.size)
                    ]
                    update = _train(model[..., mine], inputs[order], labels[order])
                    change[..., mine] += weights[device] * update
                    spread = np.sqrt(np.mean(update**2, axis=(0, 1)))
                    scale[mine] = np.maximum(scale[mine], spread)
            drawn = stream(seed, Purpose.AIR, epoch).standard_normal(model.shape[:2])
            model += mean(change, scale, weights @ takes_part, [one.error for one in now], drawn)
            if (epoch + 1) % coherence == 0:
                for column, share in enumerate(_accuracy(model, test, images.test_labels)):
                    accuracies[column].append(float(share))
    return accuracies


def mean(change: Real, scale: Real, total: Real, errors: Sequence[float], drawn: Real) -> Real:
    """Return what the server adds to the models: the mean of the updates with its noise.

    Parameters
    ----------
    change
        Weighted sum of the updates of each run, (…, runs).
    scale
        s of each run.
    total
        Sum of the weights that take part in each; the model stays as it is where it is zero.
    errors
        E of each, in units of s².
    drawn
        Independent N(0, 1), (…).
    """
    noise = scale * np.sqrt(np.asarray(errors) / 2) * drawn[..., None]
    return np.asarray((change + noise) / np.where(total > 0, total, np.inf))


def schedule(run: Run, channels: Channels, weights: Real, scheduler: SchedulerClient) -> Round:
    """Ask for a run's schedule; everybody without noise for *perfect*."""
    if run.policy == PERFECT:
        return Round(np.arange(weights.size), 0.0)
    algorithm: dict[str, Any] = Experiment.algorithm(run.policy)
    # A noise of zero leaves the schedule as it is: γ alone decides it.
    variance = run.noise_variance or 1.0
    options = ScheduleOptions(
        weights=weights,
        noise_variance=variance,
        gamma_db=run.gamma_db,
        algorithm=None if algorithm["name"] == AUTO else algorithm,
    )
    found = request_schedule(scheduler, channels, options)
    if found is None or not found.active.size or found.computation_error is None:
        return Round(np.zeros(0, np.int64), 0.0)
    error = found.computation_error
    if run.noise == "tolerated":
        assert run.gamma_db is not None
        error = variance * 10 ** (run.gamma_db / 10)
    return Round(found.active, error if run.noise_variance else 0.0)


def _train(model: Real, inputs: Single, labels: Indices) -> Real:
    """Return the updates of one device after an epoch, (features + 1, classes, columns)."""
    columns = model.shape[2]
    # In Fortran's order, so that one call adds the gradient to the velocity in place.
    trained = np.asfortranarray(model.reshape(len(model), -1).astype(np.float32))
    velocity = np.zeros_like(trained)
    augmented = np.ones((len(inputs), len(model)), np.float32)
    augmented[:, :-1] = inputs
    with np.errstate(over="ignore", invalid="ignore"):
        for first in range(0, len(inputs), _BATCH):
            batch, wanted = augmented[first : first + _BATCH], labels[first : first + _BATCH]
            chances = (batch @ trained).reshape(len(batch), _CLASSES, columns)
            chances -= chances.max(axis=1, keepdims=True)
            np.exp(chances, out=chances)
            chances /= chances.sum(axis=1, keepdims=True)
            chances[np.arange(len(batch)), wanted] -= 1
            velocity = sgemm(
                1 / len(batch),
                batch.T,
                chances.reshape(len(batch), -1).T,
                beta=_MOMENTUM,
                c=velocity,
                trans_b=1,
                overwrite_c=1,
            )
            trained -= _RATE * velocity
    return np.asarray(trained.reshape(model.shape, order="C") - model)


def _accuracy(model: Real, test: Single, labels: Indices) -> Real:
    """Return the share of the test images that each column recognises."""
    layers = model.astype(np.float32)
    right = np.zeros(model.shape[2])
    for first in range(0, len(labels), 1000):
        some = slice(first, first + 1000)
        logits = np.tensordot(test[some], layers[:-1], axes=1) + layers[-1]
        right += (logits.argmax(axis=1) == labels[some, None]).sum(axis=0)
    return right / len(labels)
