"""What the loop needs of a task, and what a task may offer besides.

A task is any object with the methods of :class:`Task`. The others are optional, and the loop looks
for each by its name: :class:`HasLabels` for our partition, :class:`HasParts` for one of your own,
:class:`HasStatistics` for what is measured rather than trained, :class:`HasModule` for what
``result.model`` returns, :class:`EvaluatesDevices` for accuracies per device, :class:`Describes`
to notice that a run is continued with another task, :class:`NamesAccuracy` for what tables call
the accuracy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.floating]
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
    train_loss: float = float("nan")


@dataclass(frozen=True, eq=False)
class LocalRound:
    """One device in one round.

    Parameters
    ----------
    device, round
        Which device, and which round, both from 0.
    samples
        Indices of its training samples.
    losses
        Test losses of the global models so far, for learning rates that depend on them.
    rng
        Source of all randomness.
    """

    device: int
    round: int
    samples: Indices
    losses: Sequence[float]
    rng: np.random.Generator


class Task(Protocol):
    """A data set and a way to learn it.

    Models are flat vectors of any floating-point type, so the loop and the air need not know their
    structure. Nothing is kept between calls, so an interrupted run resumes bit for bit.
    """

    def initial(self, rng: np.random.Generator) -> Real:
        """Return the initial model, (D,)."""

    def train(self, model: Real, local: LocalRound) -> Real:
        """Train one device from the global model on its samples, and return its model, (D,)."""

    def evaluate(self, model: Real) -> Evaluation:
        """Return how good a model is on the test data.

        A task with :class:`HasStatistics` gets these as a second argument.
        """


@runtime_checkable
class HasLabels(Protocol):
    """A task whose data our partition can divide."""

    @property
    def labels(self) -> Indices:
        """(L,) classes of the training samples; zeros where there are none."""


@runtime_checkable
class HasParts(Protocol):
    """A task that says which device holds which samples."""

    @property
    def parts(self) -> Sequence[Indices] | None:
        """K arrays of sample indices; None to let the experiment divide the data."""


@runtime_checkable
class HasStatistics(Protocol):
    """A task whose models need more than their parameters, such as batch normalisation."""

    def statistics(self, model: Real, local: LocalRound) -> Real:
        """Measure it on one device at a model, (M,).

        The weighted mean over the active devices is what ``evaluate`` gets.
        """


@runtime_checkable
class HasModule(Protocol):
    """A task with its own form of a model."""

    def module(self, model: Real, statistics: Real | None = None) -> Any:
        """Return the model with its statistics, such as a ``torch.nn.Module``."""


@runtime_checkable
class EvaluatesDevices(Protocol):
    """A task that can say how good a model is on one device's own samples."""

    def evaluate_on(
        self, model: Real, samples: Indices, statistics: Real | None = None
    ) -> Evaluation:
        """Return loss and accuracy on these training samples."""


@runtime_checkable
class NamesAccuracy(Protocol):
    """A task whose accuracy is not the share of samples classified correctly."""

    @property
    def accuracy_name(self) -> str:
        """What tables and pictures call it, such as R²."""


@runtime_checkable
class Describes(Protocol):
    """A task that says what it consists of."""

    def describe(self) -> Mapping[str, Any]:
        """Return JSON values that differ if the task does."""
