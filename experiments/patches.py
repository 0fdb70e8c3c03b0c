"""CIFAR-10 through fixed random-patch features: a linear classifier, learnt in seconds.

All images go through :mod:`.patch_features` once. What is learnt is a layer of ten outputs with
softmax and cross entropy, by stochastic gradient descent with momentum 0.9, which starts from zero
on every device in every round.
"""

from pathlib import Path

import numpy as np

from airsched_client.federated.tasks import softmax
from airsched_client.federated.tasks.cifar10_data import read
from airsched_client.federated.tasks.task import Evaluation, Indices, LocalRound, Real
from experiments.patch_features import Single, patch_features

_CLASSES, _MOMENTUM = 10, 0.9
_EVALUATED = 10_000
"""Number of training images to evaluate on."""


class Patches:
    """Classify photographs of 32×32 pixels by a linear layer on fixed features.

    Parameters
    ----------
    folder
        Holds ``cifar-10-batches-py``, and the features once they are computed.
    samples
        Number of training images to use; all 50,000 if None.
    epochs, batch_size, learning_rate
        Of the local training.
    patches
        P; an image has 4P features.
    """

    def __init__(
        self,
        folder: Path,
        samples: int | None = None,
        epochs: int = 10,
        batch_size: int = 32,
        learning_rate: float = 0.005,
        patches: int = 200,
    ) -> None:
        training, self._test_inputs = patch_features(folder, patches)
        data = read(folder)
        self._inputs, self._labels = training[:samples], data.labels[:samples]
        self._test_labels = data.test_labels
        self._epochs, self._batch_size, self._rate = epochs, batch_size, learning_rate

    @property
    def labels(self) -> Indices:
        """The ten classes."""
        return self._labels

    def initial(self, rng: np.random.Generator) -> Real:
        """Return zeros."""
        return np.zeros((self._inputs.shape[1] + 1) * _CLASSES)

    def train(self, model: Real, local: LocalRound) -> Real:
        """Return the model after some epochs of gradient descent."""
        trained = model.reshape(-1, _CLASSES).astype(np.float32)
        weights, offsets = trained[:-1], trained[-1]
        velocity = np.zeros_like(trained)
        for _ in range(self._epochs):
            order = local.samples[local.rng.permutation(local.samples.size)]
            inputs, labels = self._inputs[order], self._labels[order]
            for first in range(0, order.size, self._batch_size):
                batch = slice(first, first + self._batch_size)
                outer = softmax.gradient(inputs[batch] @ weights + offsets, labels[batch])
                velocity *= _MOMENTUM
                velocity[:-1] += inputs[batch].T @ outer
                velocity[-1] += outer.sum(axis=0)
                trained -= np.float32(self._rate) * velocity
        return trained.astype(float).ravel()

    def evaluate(self, model: Real) -> Evaluation:
        """Return cross entropy and the share of images recognised."""
        loss, accuracy = self._measure(model, self._test_inputs, self._test_labels)
        train_loss, _ = self._measure(model, self._inputs[:_EVALUATED], self._labels[:_EVALUATED])
        return Evaluation(loss, accuracy, train_loss)

    def _measure(self, model: Real, inputs: Single, labels: Indices) -> tuple[float, float]:
        layer = model.reshape(-1, _CLASSES).astype(np.float32)
        return softmax.loss_and_accuracy(inputs @ layer[:-1] + layer[-1], labels)
