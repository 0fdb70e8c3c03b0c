"""The interface of a task."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Evaluation:
    """How good a global model is on data that no device holds.

    Parameters
    ----------
    loss
        Mean test loss.
    accuracy
        Share of samples classified correctly; for regression, of variance explained (R²).
    train_loss
        Mean loss of the same model on the training data, or on the first part of it.
    """

    loss: float
    accuracy: float
    train_loss: float


class Task(Protocol):
    """A data set and a way to learn it.

    Every random choice comes from the generator that is passed in, and nothing is kept between
    calls, so an interrupted run resumes bit for bit.
    """

    @property
    def labels(self) -> Indices:
        """(L,) classes of the training samples, for the partition; zeros where there are none."""

    def initial(self, rng: np.random.Generator) -> Real:
        """Return the initial model, (D,)."""

    def train(
        self, model: Real, samples: Indices, losses: Sequence[float], rng: np.random.Generator
    ) -> Real:
        """Train one device from the global model on its samples, and return its model, (D,).

        ``losses`` are those of the global models so far, for learning rates that depend on them.
        """

    def statistics(self, model: Real, samples: Indices, rng: np.random.Generator) -> Real:
        """Measure on one device what evaluating the model takes besides its parameters, (M,).

        Their weighted mean over devices is what :meth:`evaluate` gets; most tasks measure nothing.
        """

    def evaluate(self, model: Real, statistics: Real | None = None) -> Evaluation:
        """Return how good a model is on the test data; None if nobody has measured statistics."""
