"""CIFAR-10 and the paper's network, a smaller VGG13, in torch.

Eight convolutional blocks (3×3 filters, batch normalisation, rectified linear units) with 32, 32,
64, 64, 128, 128, 256 and 256 filters, 2×2 max-pooling after every two, then 512 units, dropout 0.5
and ten outputs. Stochastic gradient descent with momentum 0.9 on batches of 32; the learning rate
of 0.005 is halved when the test loss of the global model has not improved for ten epochs. Momentum
starts from zero on every device in every round.

**Batch normalisation** keeps a running mean m and variance v of every channel, which are not
parameters but belong to the model. Averaging v over devices would ignore how far their means are
apart, which matters with skewed labels. So the vector that is sent holds m and the second moment
q = v + m² after the parameters: their weighted means are those of all the devices' data together,
and v = q − m² is the pooled variance. It is clamped from below, because of the noise.
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
_LEAST_VARIANCE = 1e-5
_EVALUATED_AT_ONCE = 500


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
    """

    def __init__(
        self,
        folder: Path,
        samples: int | None = None,
        epochs: int = 10,
        batch_size: int = 32,
        learning_rate: float = 0.005,
        evaluated: int | None = None,
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
        self._network = _network()

    @property
    def labels(self) -> Indices:
        """The ten classes."""
        return self._labels

    def initial(self, rng: np.random.Generator) -> Real:
        """Return torch's default initial weights."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(_seed(rng))
            return _to_vector(_network())

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

    def evaluate(self, model: Real) -> Evaluation:
        """Return cross entropy and the share of images recognised."""
        _load(self._network, model)
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


def _network() -> Any:
    layers: list[Any] = []
    channels = 3
    for number, filters in enumerate(_FILTERS):
        layers += [nn.Conv2d(channels, filters, 3, padding=1), nn.BatchNorm2d(filters), nn.ReLU()]
        if number % 2:
            layers.append(nn.MaxPool2d(2))
        channels = filters
    layers += [nn.Flatten(), nn.Linear(4 * channels, 512), nn.ReLU()]
    network = nn.Sequential(*layers, nn.Dropout(_DROPOUT), nn.Linear(512, 10))
    # Two thirds of the time on a CPU.
    return network.to(memory_format=torch.channels_last)


def _normalisations(network: Any) -> list[Any]:
    return [layer for layer in network if isinstance(layer, nn.BatchNorm2d)]


def _to_vector(network: Any) -> Real:
    """Return the parameters, then m and q = v + m² of every normalisation."""
    parts = [parameter.detach() for parameter in network.parameters()]
    for layer in _normalisations(network):
        parts += [layer.running_mean, layer.running_var + layer.running_mean**2]
    return np.concatenate([part.double().numpy().ravel() for part in parts])


def _load(network: Any, vector: Real) -> None:
    """Load what :func:`_to_vector` returns."""
    values, first = torch.from_numpy(vector), 0

    def take(like: Any) -> Any:
        nonlocal first
        first += like.numel()
        return values[first - like.numel() : first].reshape(like.shape)

    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(take(parameter))
        for layer in _normalisations(network):
            mean, second = take(layer.running_mean), take(layer.running_var)
            layer.running_mean.copy_(mean)
            layer.running_var.copy_((second - mean**2).clamp(min=_LEAST_VARIANCE))


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**63))
