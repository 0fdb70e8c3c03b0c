r"""A round in a cell as it is, stated as a standard problem that every algorithm solves.

Maximise :math:`|S|` subject to :math:`\phi_k^2\,c^H R c \le \varepsilon P_k |h_k^H c|^2` for
:math:`k \in S`, with the noise covariance R and the power limits :math:`P_k`. Some devices are
*excluded*, and some are *required*: S must hold all of them, or nobody transmits. Among sets of
equal size, the one that keeps most of the *previous* round's devices is preferred.

Excluded devices are columns that do not exist. The other two are values of the set:

- a previous device counts :math:`1 + 1/(2K)`: overlap decides between sets of equal size, and
  never outweighs a device;
- a required device counts more than all others together, so a set with all of them has a larger
  value than any set without one.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from app.scheduling.any_problem import NO_DEVICES, InvalidProblemError
from app.scheduling.cells.transform import StatedProblem, Transform, span, whitening
from app.scheduling.cells.verification import verify_in_cell
from app.scheduling.irs.problem import IrsProblem
from app.scheduling.problem import MAX_PRIORITY, Problem
from app.scheduling.schedule import Method, Schedule
from app.scheduling.types import ComplexArray, IndexArray, RealArray
from app.scheduling.verification import VerificationError

_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Cell(StatedProblem[Problem | IrsProblem]):
    """A round in a cell, and the standard problem that it comes down to.

    Parameters
    ----------
    stated, reduced, transform, power, noise_covariance
        As for :class:`StatedProblem`.
    required
        Ascending indices of the devices that must take part.
    valued_by
        The field that makes devices differ in value, if any does.
    scale, bonus
        A device's value in the standard problem is ``scale`` times its own, and for a required one
        ``scale`` times ``bonus`` more.
    """

    required: IndexArray = field(default_factory=lambda: NO_DEVICES)
    valued_by: str = "priorities"
    scale: float = 1.0
    bonus: float = 0.0

    def to_standard_set(self, active: IndexArray) -> IndexArray:
        """Return devices of the cell, which all take part, as those of the standard problem."""
        return self.transform.columns(active)

    def with_bound(self, schedule: Schedule, upper_bound: float) -> Schedule:
        """Return ``schedule`` with a bound on its own devices, or on their priorities.

        If the bound is below what all required devices add, no set holds all of them.
        """
        required = self.required.size * self.bonus
        bound = max(0.0, upper_bound / self.scale - required)
        if self.stated.priorities is None:
            return schedule._replace(upper_bound=math.floor(bound * (1 + _ROUNDING)), worth=None)
        worth = float(self.stated.priorities[schedule.active].sum())
        if bound < worth <= bound + _ROUNDING * upper_bound / self.scale:
            # What the required devices add hides the last digits of an attained bound.
            bound = worth
        return schedule._replace(upper_bound=bound, worth=worth)

    def to_standard(self, receiver: ComplexArray | None) -> ComplexArray | None:
        """Return a receiver of the cell (N,) as one of the standard problem."""
        return self.transform.to_standard(receiver)

    def restored(
        self, schedule: Schedule, method: Method, keeps_tolerance: bool = True
    ) -> Schedule:
        """Return the schedule of the cell that one of the standard problem stands for.

        It is verified in the cell's own coordinates.
        """
        schedule = schedule._replace(
            active=self.transform.indices(schedule.active),
            transmit_scalars=self.transform.scalars(schedule.transmit_scalars),
        )
        if schedule.required_missing is not None:
            missing = self.transform.indices(schedule.required_missing)
            schedule = schedule._replace(required_missing=missing)
        if schedule.upper_bound is not None:
            schedule = self.with_bound(schedule, schedule.upper_bound)
        elif self.stated.priorities is None:
            schedule = schedule._replace(worth=None)
        if schedule.receiver is None or schedule.power_factor is None:
            return schedule
        receiver, size = self.transform.receiver(schedule.receiver)
        power_factor = schedule.power_factor / size**2
        schedule = schedule._replace(receiver=receiver, power_factor=power_factor)
        self.verify(schedule, method, keeps_tolerance=keeps_tolerance)
        return schedule

    def verify_active(self, schedule: Schedule, method: Method, *, keeps_tolerance: bool) -> None:
        """Check a schedule with active devices, using only what was stated."""
        kept = self.transform.kept
        if kept is not None and not np.isin(schedule.active, kept).all():
            raise VerificationError("an excluded device is active")
        if not np.isin(self.required, schedule.active).all():
            raise VerificationError("a required device is not active")
        if not self.stated.allows(schedule.phases):
            raise VerificationError("every element of the surface needs a phase that is allowed")
        power = self.stated.power if self.power is None else self.power
        noise = self.noise_covariance
        verify_in_cell(
            self.stated.tuned(schedule.phases).channels,
            self.stated,
            np.broadcast_to(power, self.stated.devices),
            np.eye(self.stated.antennas) * self.stated.noise_variance if noise is None else noise,
            schedule,
            method,
            keeps_tolerance=keeps_tolerance,
        )


def state(
    stated: Problem | IrsProblem,
    *,
    power: RealArray | None = None,
    noise_covariance: ComplexArray | None = None,
    excluded: IndexArray = NO_DEVICES,
    required: IndexArray = NO_DEVICES,
    previous: IndexArray = NO_DEVICES,
) -> Problem | IrsProblem | Cell:
    """Return ``stated`` as a cell, or itself if that would change nothing.

    Parameters
    ----------
    stated
        The round, with the largest power limit and the mean noise variance.
    power, noise_covariance
        As for :class:`Cell`.
    excluded, required, previous
        Indices of devices.

    Raises
    ------
    InvalidProblemError
        The arguments contradict each other.
    """
    require_consistent(stated.devices, excluded, required)
    kept = np.setdiff1d(np.arange(stated.devices), excluded) if excluded.size else None
    amplitudes = None if power is None else np.sqrt(power / stated.power)
    white = None if noise_covariance is None else whitening(noise_covariance, stated.noise_variance)
    transform = Transform(stated.antennas, stated.devices, white, amplitudes, kept)
    basis = span(stated.columns(transform.to_antennas, transform.to_devices))
    if basis is not None:
        transform = replace(transform, basis=basis if white is None else white @ basis)
    values, scale, bonus = device_values(stated, required, previous)
    if values is None and all(
        part is None for part in (transform.basis, transform.amplitudes, transform.kept)
    ):
        return stated
    standard = _transformed(stated, transform, values)
    valued_by = "required" if required.size else "previous" if previous.size else "priorities"
    return Cell(
        stated, standard, transform, power, noise_covariance, required, valued_by, scale, bonus
    )


def require_consistent(devices: int, excluded: IndexArray, required: IndexArray) -> None:
    """Raise :class:`InvalidProblemError` if a required device is excluded, or all devices are."""
    both = np.intersect1d(excluded, required)
    if both.size:
        raise InvalidProblemError(
            "required", f"device {both[0]} is excluded as well; take it out of one of the two"
        )
    if excluded.size == devices:
        raise InvalidProblemError("excluded", "leaves no device to schedule")


def _transformed(
    stated: Problem | IrsProblem, transform: Transform, values: RealArray | None
) -> Problem | IrsProblem:
    """Return ``stated`` in other coordinates, with these priorities (K,)."""
    changed: dict[str, Any] = {"weights": transform.per_device(stated.weights)}
    if stated.uncertain:
        largest = 1.0 if transform.basis is None else float(np.linalg.norm(transform.basis, 2))
        changed["csi_error"] = transform.per_device(stated.errors * largest, transform.amplitudes)
    if values is not None:
        changed["priorities"] = transform.per_device(values)
    return stated.in_coordinates(transform.to_antennas, transform.to_devices, **changed)


def device_values(
    stated: Problem | IrsProblem, required: IndexArray, previous: IndexArray
) -> tuple[RealArray | None, float, float]:
    """Return (K,) what each device adds to a set, or None; the scale; and the bonus."""
    priorities = stated.priorities
    if required.size and stated.uncertain:
        raise InvalidProblemError(
            "required", "is not available with csi_error: what a device needs depends on the others"
        )
    if previous.size:
        if priorities is not None:
            raise InvalidProblemError(
                "previous", "cannot be combined with priorities; leave one of them out"
            )
        priorities = np.ones(stated.devices)
        priorities[previous] += 1 / (2 * stated.devices)
    if not required.size:
        return priorities, 1.0, 0.0
    values = np.ones(stated.devices) if priorities is None else priorities.copy()
    bonus = 2 * float(values.sum())
    values[required] += bonus
    # Within the bounds of priorities; values below the minimum are negligible next to the bonus.
    scale = min(1.0, MAX_PRIORITY / float(values.max()))
    return np.maximum(scale * values, 1 / MAX_PRIORITY), scale, bonus
