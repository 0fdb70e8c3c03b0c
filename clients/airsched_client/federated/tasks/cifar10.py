"""CIFAR-10 and the paper's network, a smaller VGG13, in torch.

Eight convolutional blocks (3×3 filters, batch normalisation, rectified linear units) with 32, 32,
64, 64, 128, 128, 256 and 256 filters, 2×2 max-pooling after every two, then 512 units, dropout 0.5
and ten outputs. Stochastic gradient descent with momentum 0.9 on batches of 32; the learning rate
of 0.005 is halved when the test loss of the global model has not improved for ten epochs. Momentum
starts from zero on every device in every round.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from airsched_client.federated.tasks.cifar10_data import read
from airsched_client.federated.tasks.task import LocalRound

# The task first: without torch, its error says what to install.
from airsched_client.federated.tasks.torch_task import TorchTask  # isort: skip
import torch  # isort: skip
from torch import nn  # isort: skip

_FILTERS = (32, 32, 64, 64, 128, 128, 256, 256)
_MOMENTUM, _DROPOUT, _PLATEAU_EPOCHS = 0.9, 0.5, 10
_DENSE_UNITS = 512


class Cifar10(TorchTask):
    """Classify photographs of 32×32 pixels.

    Parameters
    ----------
    folder
        Holds ``cifar-10-batches-py``.
    samples
        Number of training images to use; all 50,000 if None.
    epochs, batch_size, learning_rate
        Of the local training.
    evaluated
        Number of test images, and of training images, to evaluate on; all 10,000 test images if
        None.
    width
        Filters and dense units as a share of the paper's.
    bfloat16
        Multiply in 16 bits while training, with weights, sums and statistics in 32: a step of the
        full width takes 0.56 of the time on a processor that has such instructions, and 2.5 times
        as long on one that has not.
    """

    def __init__(
        self,
        folder: Path,
        samples: int | None = None,
        epochs: int = 10,
        batch_size: int = 32,
        learning_rate: float = 0.005,
        evaluated: int | None = None,
        width: float = 1.0,
        bfloat16: bool = False,
    ) -> None:
        data = read(folder)
        images, labels = data.images[:samples], data.labels[:samples]
        shape = (1, 3, 1, 1)
        centre, spread = images.mean(axis=(0, 2, 3)), images.std(axis=(0, 2, 3))
        test = data.test_images[:evaluated], data.test_labels[:evaluated]
        self._rate, self._rounds_of_plateau = learning_rate, -(-_PLATEAU_EPOCHS // epochs)
        super().__init__(
            lambda: network(centre.reshape(shape), spread.reshape(shape), width, bfloat16),
            (torch.from_numpy(images), torch.from_numpy(labels)),
            (torch.from_numpy(test[0]), torch.from_numpy(test[1])),
            optimizer=lambda parameters: self._sgd(parameters, learning_rate),
            epochs=epochs,
            batch_size=batch_size,
            train_samples=len(test[1]),
        )

    def optimizer_of(self, parameters: Any, local: LocalRound) -> Any:
        """Return gradient descent at the rate that follows from the losses so far."""
        rate = rate_after(local.losses, self._rate, self._rounds_of_plateau)
        return self._sgd(parameters, rate)

    @staticmethod
    def _sgd(parameters: Any, rate: float) -> Any:
        return torch.optim.SGD(parameters, lr=rate, momentum=_MOMENTUM)


def rate_after(losses: Sequence[float], initial: float, patience: int) -> float:
    """Return the rate after these test losses: halved after ``patience`` without improvement."""
    rate, best, waited = initial, float("inf"), 0
    for loss in losses:
        waited = 0 if loss < best else waited + 1
        best = min(best, loss)
        if waited == patience:
            rate, waited = rate / 2, 0
    return rate


class _Normalise(nn.Module):  # type: ignore[misc]
    """Bytes to numbers of mean 0 and deviation 1, in the memory order that is fast on a CPU."""

    def __init__(self, centre: Any, spread: Any) -> None:
        super().__init__()
        self.register_buffer("centre", torch.tensor(centre).float())
        self.register_buffer("spread", torch.tensor(spread).float())

    def forward(self, images: Any) -> Any:
        """Return the images, normalised."""
        images = images.contiguous(memory_format=torch.channels_last)
        return (images.float() - self.centre) / self.spread


class _InSixteenBits(nn.Sequential):  # type: ignore[misc]
    """Layers that multiply in 16 bits while they train."""

    def forward(self, images: Any) -> Any:
        """Return the outputs, in 32 bits."""
        with torch.autocast("cpu", torch.bfloat16, enabled=self.training):
            return super().forward(images).float()


def network(centre: Any, spread: Any, width: float = 1.0, bfloat16: bool = False) -> Any:
    """Return the paper's network, with its images normalised first."""
    layers: list[Any] = [_Normalise(np.asarray(centre), np.asarray(spread))]
    channels = 3
    for number, papers in enumerate(_FILTERS):
        filters = round(width * papers)
        layers += [nn.Conv2d(channels, filters, 3, padding=1), nn.BatchNorm2d(filters), nn.ReLU()]
        if number % 2:
            layers.append(nn.MaxPool2d(2))
        channels = filters
    units = round(width * _DENSE_UNITS)
    layers += [nn.Flatten(), nn.Linear(4 * channels, units), nn.ReLU()]
    kind = _InSixteenBits if bfloat16 else nn.Sequential
    made = kind(*layers, nn.Dropout(_DROPOUT), nn.Linear(units, 10))
    # Two thirds of the time on a CPU.
    return made.to(memory_format=torch.channels_last)
