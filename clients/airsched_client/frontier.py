r"""The trade-off between devices and error, and rules to choose a point of it.

The rule of :meth:`Frontier.best`, which the service applies as well, needs no tolerance. After a
round with the devices S, the model has moved by :math:`\sum_{k\in S}\phi_k\Delta_k/\Phi_S` plus
noise, with :math:`\Phi_S = \sum_{k\in S}\phi_k` and :math:`\Phi` the sum over all K devices. In
units of the power of the updates, it errs by

- noise: :math:`E/(2\Phi_S^2)`, half of E because the entries are real;
- missing devices: :math:`(\Phi/\Phi_S - 1)/K`, the variance of a mean over a part of a finite
  population, times how much the devices differ.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from airsched_client.models import Schedule, schedules_from

PARTICIPATION = 30.0
"""Default weight ρ of the devices that are missing; results hardly change from 10 to 100."""


@dataclass(frozen=True, eq=False)
class Frontier:
    """Schedules of one round, none of which beats another in both devices and error.

    Parameters
    ----------
    points
        With rising number of devices (with priorities, rising sum of those) and rising error;
        empty when no device can be served.
    stopped
        ``deadline`` if the search was stopped early: better points may exist.
    weights
        (K,) φ of all devices.
    recommended
        Index of the point that the service recommends; None without points.
    request_id, server_timing
        As of a :class:`Schedule`.
    """

    points: tuple[Schedule, ...]
    stopped: Literal["converged", "deadline"]
    weights: NDArray[np.float64]
    recommended: int | None = None
    request_id: str | None = None
    server_timing: Mapping[str, float] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[Schedule]:
        return iter(self.points)

    def __getitem__(self, index: int) -> Schedule:
        return self.points[index]

    def at_most(self, error: float) -> Schedule | None:
        """Return the point with the most devices and an error of at most ``error``, if any."""
        return next((point for point in reversed(self.points) if _error(point) <= error), None)

    def at_least(self, devices: int) -> Schedule | None:
        """Return the point with the least error and at least so many devices, if any."""
        return next((point for point in self.points if point.active.size >= devices), None)

    def best(self, participation: float | None = None) -> Schedule | None:
        """Return the point with the least E/(2Φ_S²) + ρ (Φ/Φ_S - 1)/K; None without any.

        Parameters
        ----------
        participation
            ρ, how much devices that are missing matter in comparison with noise; by default the
            point is the one that the service recommends.
        """
        if participation is None:
            if self.recommended is not None:
                return self.points[self.recommended]
            participation = PARTICIPATION
        return min(self.points, key=lambda point: self._harm(point, participation), default=None)

    def _harm(self, point: Schedule, participation: float) -> float:
        present = float(self.weights[point.active].sum())
        missing = float(self.weights.sum()) / present - 1
        noise = _error(point) / (2 * present**2)
        return noise + participation * missing / self.weights.size

    @classmethod
    def from_answer(cls, answer: Mapping[str, Any], weights: NDArray[np.float64]) -> Self:
        """Build it from the service's answer to a request with these weights."""
        points = schedules_from(answer["points"], answer["device_ids"])
        weights = weights.copy()
        weights.flags.writeable = False
        return cls(points, answer["stopped"], weights, answer["recommended"])


def _error(point: Schedule) -> float:
    return np.inf if point.computation_error is None else point.computation_error
