"""Softmax and cross entropy in NumPy: loss, accuracy and gradient at the logits."""

import numpy as np

from airsched_client.federated.tasks.task import Indices, Real


def loss_and_accuracy(logits: Real, labels: Indices) -> tuple[float, float]:
    """Return the mean cross entropy, and the share of samples classified correctly."""
    chosen = logits[np.arange(len(logits)), labels]
    # Not log(softmax), which is log(0) for a model that has diverged.
    largest = logits.max(axis=1)
    normaliser = largest + np.log(np.exp(logits - largest[:, None]).sum(axis=1))
    right = logits.argmax(axis=1) == labels
    return float(np.mean(normaliser - chosen)), float(np.mean(right))


def gradient(logits: Real, labels: Indices) -> Real:
    """Return the gradient of the mean cross entropy at the logits."""
    chances = np.exp(logits - logits.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    chances[np.arange(len(logits)), labels] -= 1
    return np.asarray(chances / len(logits))
