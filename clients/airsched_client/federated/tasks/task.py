"""What every task can do."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Evaluation:
    """How good a global model is on data that no device has.

    Parameters
    ----------
    loss
        Mean loss, as trained on.
    accuracy
        Share of samples classified correctly; for regression, of variance explained (R²).
    train_loss
        Mean loss of the same model on the training data, or on the first of them.
    """

    loss: float
    accuracy: float
    train_loss: float


class Task(Protocol):
    """A data set and a way to learn it.

    Every random choice comes from the generator that is passed in, and nothing is kept from one
    call to the next: an interrupted run goes on as if it had not been.
    """

    @property
    def labels(self) -> Indices:
        """(L,) classes of the training samples, for the partition; zeros where there are none."""

    def initial(self, rng: np.random.Generator) -> Real:
        """Return a model to begin with, (D,)."""

    def train(
        self, model: Real, samples: Indices, losses: Sequence[float], rng: np.random.Generator
    ) -> Real:
        """Train one device from the global model on its samples, and return its model, (D,).

        ``losses`` are those of the global models so far, for learning rates that follow them.
        """

    def evaluate(self, model: Real) -> Evaluation:
        """Return how good a model is on the test data."""
