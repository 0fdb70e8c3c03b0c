"""CIFAR-10 and the paper's network, a smaller VGG13, in torch.

Eight convolutional blocks (3×3 filters, batch normalisation, rectified linear units) with 32, 32,
64, 64, 128, 128, 256 and 256 filters, 2×2 max-pooling after every two, then 512 units, dropout 0.5
and ten outputs. Stochastic gradient descent with momentum 0.9 on batches of 32; the learning rate
of 0.005 is halved when the test loss of the global model has not improved for ten epochs. Momentum
starts from zero on every device in every round.

**Batch normalisation** evaluates with the mean m and the variance v of every channel. These are no
parameters, and they belong to the weights they were measured with: what devices found while they
trained, each with weights of its own, is not right for the mean of their weights. So the active
devices measure them at the new global model, on :data:`STATISTICS_IMAGES` images each, as m and the
second moment q = v + m². The weighted means of m and q are those of all the images together.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from airsched_client.federated.tasks.cifar10_data import read
from airsched_client.federated.tasks.task import Evaluation, Indices, Real

try:
    import torch
    from torch import nn
except ImportError as error:
    raise ImportError("cifar10 needs torch: pip install 'airsched-client[cifar]'") from error

_FILTERS = (32, 32, 64, 64, 128, 128, 256, 256)
_MOMENTUM, _DROPOUT, _PLATEAU_EPOCHS = 0.9, 0.5, 10
_DENSE_UNITS = 512
_EVALUATED_AT_ONCE = 500
STATISTICS_IMAGES = 256
"""Images on which a device measures the statistics of the global model."""


class Cifar10:
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
    ) -> None:
        data = read(folder)
        self._labels = data.labels[:samples]
        shape = (1, 3, 1, 1)
        images = data.images[:samples]
        self._centre = torch.tensor(images.mean(axis=(0, 2, 3)).reshape(shape)).float()
        self._spread = torch.tensor(images.std(axis=(0, 2, 3)).reshape(shape)).float()
        self._images, self._targets = torch.from_numpy(images), torch.from_numpy(self._labels)
        self._test_images = torch.from_numpy(data.test_images[:evaluated])
        self._test_targets = torch.from_numpy(data.test_labels[:evaluated])
        self._epochs, self._batch_size, self._rate = epochs, batch_size, learning_rate
        self._width = width
        self._network = _network(width)

    @property
    def labels(self) -> Indices:
        """The ten classes."""
        return self._labels

    def initial(self, rng: np.random.Generator) -> Real:
        """Return torch's default initial weights."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(_seed(rng))
            return _to_vector(_network(self._width))

    def train(
        self, model: Real, samples: Indices, losses: Sequence[float], rng: np.random.Generator
    ) -> Real:
        """Return the model after some epochs of gradient descent."""
        network = self._network
        _load(network, model)
        network.train()
        rate = learning_rate(losses, self._rate, -(-_PLATEAU_EPOCHS // self._epochs))
        optimiser = torch.optim.SGD(network.parameters(), lr=rate, momentum=_MOMENTUM)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(_seed(rng))
            for _ in range(self._epochs):
                order = torch.from_numpy(samples[rng.permutation(samples.size)])
                for batch in order.split(self._batch_size):
                    optimiser.zero_grad()
                    logits = network(self._normalised(self._images[batch]))
                    nn.functional.cross_entropy(logits, self._targets[batch]).backward()
                    optimiser.step()
        return _to_vector(network)

    def statistics(self, model: Real, samples: Indices, rng: np.random.Generator) -> Real:
        """Return m and q = v + m² of every channel, on some of the samples at this model."""
        _load(self._network, model)
        self._network.eval()
        normalisations = _normalisations(self._network)
        for layer in normalisations:
            layer.train()
            # Keep this batch's statistics, nothing of earlier ones.
            layer.momentum = 1.0
        some = torch.from_numpy(rng.permutation(samples)[:STATISTICS_IMAGES])
        with torch.no_grad():
            self._network(self._normalised(self._images[some]))
        parts = []
        for layer in normalisations:
            parts += [layer.running_mean, layer.running_var + layer.running_mean**2]
        return _joined(parts)

    def evaluate(self, model: Real, statistics: Real | None = None) -> Evaluation:
        """Return cross entropy and the share of images recognised."""
        _load(self._network, model, statistics)
        self._network.eval()
        loss, accuracy = self._measure(self._test_images, self._test_targets)
        count = len(self._test_targets)
        train_loss, _ = self._measure(self._images[:count], self._targets[:count])
        return Evaluation(loss, accuracy, train_loss)

    def _measure(self, images: Any, targets: Any) -> tuple[float, float]:
        """Return the mean loss and the accuracy of the network on these images."""
        loss, right = 0.0, 0
        with torch.no_grad():
            for some, wanted in zip(
                images.split(_EVALUATED_AT_ONCE), targets.split(_EVALUATED_AT_ONCE), strict=True
            ):
                logits = self._network(self._normalised(some))
                loss += float(nn.functional.cross_entropy(logits, wanted, reduction="sum"))
                right += int((logits.argmax(1) == wanted).sum())
        return loss / len(targets), right / len(targets)

    def _normalised(self, images: Any) -> Any:
        images = images.contiguous(memory_format=torch.channels_last)
        return (images.float() - self._centre) / self._spread


def learning_rate(losses: Sequence[float], initial: float, patience: int) -> float:
    """Return the rate after these test losses: halved after ``patience`` without improvement."""
    rate, best, waited = initial, float("inf"), 0
    for loss in losses:
        waited = 0 if loss < best else waited + 1
        best = min(best, loss)
        if waited == patience:
            rate, waited = rate / 2, 0
    return rate


def _network(width: float = 1.0) -> Any:
    layers: list[Any] = []
    channels = 3
    for number, papers in enumerate(_FILTERS):
        filters = round(width * papers)
        layers += [nn.Conv2d(channels, filters, 3, padding=1), nn.BatchNorm2d(filters), nn.ReLU()]
        if number % 2:
            layers.append(nn.MaxPool2d(2))
        channels = filters
    units = round(width * _DENSE_UNITS)
    layers += [nn.Flatten(), nn.Linear(4 * channels, units), nn.ReLU()]
    network = nn.Sequential(*layers, nn.Dropout(_DROPOUT), nn.Linear(units, 10))
    # Two thirds of the time on a CPU.
    return network.to(memory_format=torch.channels_last)


def _normalisations(network: Any) -> list[Any]:
    return [layer for layer in network if isinstance(layer, nn.BatchNorm2d)]


def _to_vector(network: Any) -> Real:
    """Return the parameters."""
    return _joined([parameter.detach() for parameter in network.parameters()])


def _joined(parts: list[Any]) -> Real:
    return np.concatenate([part.double().numpy().ravel() for part in parts])


def _load(network: Any, vector: Real, statistics: Real | None = None) -> None:
    """Load parameters and statistics; without these, a mean of 0 and a variance of 1."""
    layers = _normalisations(network)
    with torch.no_grad():
        _fill(list(network.parameters()), vector)
        for layer in layers:
            layer.reset_running_stats()
        if statistics is not None:
            _fill(
                [part for layer in layers for part in (layer.running_mean, layer.running_var)],
                statistics,
            )
            for layer in layers:
                # q − m² of the means; rounding alone can take it below zero.
                layer.running_var.sub_(layer.running_mean**2).clamp_(min=0)


def _fill(tensors: list[Any], vector: Real) -> None:
    parts = torch.from_numpy(vector).split([tensor.numel() for tensor in tensors])
    for tensor, part in zip(tensors, parts, strict=True):
        tensor.copy_(part.reshape(tensor.shape))


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**63))
