"""Handwritten digits: scikit-learn's 1797 images of 8×8 pixels, and a small network in NumPy.

One hidden layer of rectified linear units, softmax and cross entropy, trained by stochastic
gradient descent with momentum 0.9, which starts from zero on every device in every round. The
images come with scikit-learn; nothing is downloaded.
"""

import numpy as np

from airsched_client._extras import install_hint
from airsched_client.federated.tasks import softmax
from airsched_client.federated.tasks.task import Evaluation, Indices, LocalRound, Real

_PIXELS, _CLASSES, _MOMENTUM = 64, 10, 0.9
_TEST_SHARE = 0.25


class Digits:
    """Classify 8×8 images of digits.

    Parameters
    ----------
    samples
        Number of training images to use; all 1348 if None.
    epochs, batch_size, learning_rate
        Of the local training.
    hidden
        Units of the hidden layer.
    """

    def __init__(
        self,
        samples: int | None = None,
        epochs: int = 5,
        batch_size: int = 16,
        learning_rate: float = 0.02,
        hidden: int = 32,
    ) -> None:
        try:
            from sklearn.datasets import load_digits
        except ImportError as error:
            raise ImportError(
                f"the digits come with scikit-learn: {install_hint('federated')}"
            ) from error
        images, labels = load_digits(return_X_y=True)
        # The split is part of the data set and the same for every seed.
        order = np.random.default_rng(0).permutation(len(images))
        images, labels = images[order] / 16.0, labels[order].astype(np.int64)
        first = int(_TEST_SHARE * len(images))
        self._test_images, self._test_labels = images[:first], labels[:first]
        self._images = images[first:][:samples]
        self._labels: Indices = labels[first:][:samples]
        self._epochs, self._batch_size, self._rate = epochs, batch_size, learning_rate
        self._hidden = hidden
        self._shapes = [(_PIXELS, hidden), (hidden,), (hidden, _CLASSES), (_CLASSES,)]

    @property
    def labels(self) -> Indices:
        """The digits."""
        return self._labels

    def initial(self, rng: np.random.Generator) -> Real:
        """Return weights as in He et al. (2015), and zero offsets."""
        first = rng.standard_normal((_PIXELS, self._hidden)) * np.sqrt(2 / _PIXELS)
        second = rng.standard_normal((self._hidden, _CLASSES)) * np.sqrt(2 / self._hidden)
        parts = [first, np.zeros(self._hidden), second, np.zeros(_CLASSES)]
        return np.concatenate([part.ravel() for part in parts])

    def train(self, model: Real, local: LocalRound) -> Real:
        """Return the model after some epochs of gradient descent."""
        trained = model.copy()
        velocity = np.zeros_like(trained)
        for _ in range(self._epochs):
            order = local.samples[local.rng.permutation(local.samples.size)]
            for first in range(0, order.size, self._batch_size):
                batch = order[first : first + self._batch_size]
                velocity = _MOMENTUM * velocity + self._gradient(trained, batch)
                trained -= self._rate * velocity
        return trained

    def evaluate(self, model: Real) -> Evaluation:
        """Return cross entropy and the share of digits recognised."""
        loss, accuracy = self._measure(model, self._test_images, self._test_labels)
        train_loss, _ = self._measure(model, self._images, self._labels)
        return Evaluation(loss, accuracy, train_loss)

    def evaluate_on(
        self, model: Real, samples: Indices, statistics: Real | None = None
    ) -> Evaluation:
        """Return cross entropy and accuracy on some training samples."""
        loss, accuracy = self._measure(model, self._images[samples], self._labels[samples])
        return Evaluation(loss, accuracy, loss)

    def describe(self) -> dict[str, object]:
        """Return what the results depend on."""
        return {
            "samples": len(self._labels),
            "epochs": self._epochs,
            "batch_size": self._batch_size,
            "learning_rate": self._rate,
            "hidden": self._hidden,
        }

    def accuracy_by_label(self, model: Real) -> Real:
        """Return the share of each digit that is recognised, (10,)."""
        _, logits = self._forward(model, self._test_images)
        right = logits.argmax(axis=1) == self._test_labels
        return np.array([right[self._test_labels == label].mean() for label in range(_CLASSES)])

    def _measure(self, model: Real, images: Real, labels: Indices) -> tuple[float, float]:
        """Return the mean loss and the accuracy on these images."""
        _, logits = self._forward(model, images)
        return softmax.loss_and_accuracy(logits, labels)

    def _gradient(self, model: Real, batch: Indices) -> Real:
        images, labels = self._images[batch], self._labels[batch]
        hidden, logits = self._forward(model, images)
        outer = softmax.gradient(logits, labels)
        inner = (outer @ self._layers(model)[2].T) * (hidden > 0)
        parts = [images.T @ inner, inner.sum(axis=0), hidden.T @ outer, outer.sum(axis=0)]
        return np.concatenate([part.ravel() for part in parts])

    def _forward(self, model: Real, images: Real) -> tuple[Real, Real]:
        first, first_offset, second, second_offset = self._layers(model)
        hidden = np.maximum(images @ first + first_offset, 0)
        return hidden, hidden @ second + second_offset

    def _layers(self, model: Real) -> list[Real]:
        ends = np.cumsum([int(np.prod(shape)) for shape in self._shapes])
        parts = np.split(model, ends[:-1])
        return [part.reshape(shape) for part, shape in zip(parts, self._shapes, strict=True)]
