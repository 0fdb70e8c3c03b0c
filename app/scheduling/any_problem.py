"""What problems of every kind have in common."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from app.scheduling.schedule import Method, Schedule
from app.scheduling.types import ComplexArray, IndexArray, MaskArray, RealArray


class InvalidProblemError(ValueError):
    """An argument of a problem is invalid.

    Attributes
    ----------
    field
        Name of the offending argument of a problem, or field of a request.
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return type(self), (self.field, self.message)


NO_DEVICES = np.zeros(0, np.int64)
NO_DEVICES.flags.writeable = False


class Rebuilt:
    """Base of frozen dataclasses that are made anew when unpickled.

    Pickle does not preserve that arrays are read-only; every field that ``__init__`` takes is
    carried over, and checked again.
    """

    def __reduce__(self: Any) -> tuple[type, tuple[object, ...]]:
        return type(self), tuple(getattr(self, item.name) for item in fields(self) if item.init)


class AnyProblem(Rebuilt, ABC):
    """What a problem of every kind says about itself.

    How a kind is answered, and by which algorithms, is in its
    :class:`app.scheduling.kind.Kind`.
    """

    weights: RealArray
    gamma: float
    priorities: RealArray | None = None
    valued_by: str = "priorities"
    """The field that makes devices differ in value, if any does."""
    errors: RealArray
    """(K,) bounds on the errors of the channel estimates; for a kind that takes them."""

    uncertain: bool = False
    """Whether any of them is positive."""

    required: IndexArray = NO_DEVICES
    """Ascending indices of devices that must be in the set, or nobody is."""

    @property
    def values(self) -> RealArray:
        """(K,) what each device adds to a set: its priority over the largest; one without any."""
        if self.priorities is None:
            return np.ones(self.devices)
        return np.asarray(self.priorities / self.priorities.max())

    def worth(self, active: MaskArray | IndexArray) -> float:
        """Return the sum of :attr:`values` over a set of devices."""
        return float(self.values[active].sum())

    @property
    @abstractmethod
    def sizes(self) -> Mapping[str, int]:
        """What the problem has how many of; always ``antennas`` and ``devices``."""

    @property
    @abstractmethod
    def entries(self) -> int:
        """Number of channel coefficients."""

    @property
    def antennas(self) -> int:
        """Number of antennas N."""
        return self.sizes["antennas"]

    @property
    def devices(self) -> int:
        """Number of devices K."""
        return self.sizes["devices"]

    @property
    def receiver_shape(self) -> tuple[int, ...]:
        """The shape of a receiver."""
        return (self.antennas,)

    @abstractmethod
    def exact(self, budget: float) -> "AnyProblem":
        """Return the same round as if the channel estimates were right, with a smaller tolerance.

        Parameters
        ----------
        budget
            Sum of squared errors that the tolerance leaves room for: γ/(1 + budget·P/σ²).
        """

    @property
    def why_no_bound(self) -> str | None:
        """Why ``bound`` is refused for this problem; None if it is not."""
        return None

    @property
    def standard(self) -> "AnyProblem":
        """The problem that algorithms solve: itself, unless it is stated in other coordinates."""
        return self

    def to_standard(self, receiver: ComplexArray | None) -> ComplexArray | None:
        """Return a receiver of this problem as one of the standard problem."""
        return receiver

    def to_standard_set(self, active: IndexArray) -> IndexArray:
        """Return devices of this problem as those of the standard problem."""
        return active

    def with_bound(self, schedule: Schedule, upper_bound: float) -> Schedule:
        """Return ``schedule`` with what a bound of the standard problem says about it."""
        return schedule._replace(upper_bound=upper_bound)

    def restored(
        self, schedule: Schedule, method: Method, keeps_tolerance: bool = True
    ) -> Schedule:
        """Return the verified schedule that one of the standard problem stands for."""
        return schedule

    def starting_at(self, phases: ComplexArray | None) -> "AnyProblem":
        """Return the same round with a surface that starts at ``phases``, if it has one."""
        return self
