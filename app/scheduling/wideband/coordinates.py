"""A round over a band with power limits per device and coloured noise, as a standard one.

The change of coordinates of :mod:`app.scheduling.cells.transform`, the same on every subcarrier: R
is the noise covariance of each, and :math:`P_k` what device k may send on each.
"""

from typing import Any

import numpy as np

from app.scheduling.cells.transform import StatedProblem, Transform, whitening
from app.scheduling.cells.verification import ROUNDING, verify_in_cell
from app.scheduling.schedule import Method, Schedule
from app.scheduling.types import ComplexArray, IndexArray, RealArray
from app.scheduling.verification import VerificationError
from app.scheduling.wideband.cell import state
from app.scheduling.wideband.problem import WidebandProblem


class BandCell(StatedProblem[WidebandProblem]):
    """A round over a band as it was stated, and the standard problem that it comes down to.

    The required devices are the standard problem's own: its algorithms are followed by a search
    for them, so ``required`` stays empty here.
    """

    def to_standard(self, receiver: ComplexArray | None) -> ComplexArray | None:
        """Return receivers of the cell (F, N) as those of the standard problem."""
        mapped = self.transform.to_standard(None if receiver is None else receiver.T)
        return None if mapped is None else np.ascontiguousarray(mapped.T)

    def restored(
        self, schedule: Schedule, method: Method, keeps_tolerance: bool = True
    ) -> Schedule:
        """Return the schedule of the cell that one of the standard problem stands for, verified."""
        schedule = schedule._replace(
            transmit_scalars=self.transform.scalars(schedule.transmit_scalars)
        )
        if schedule.receiver is None or schedule.power_factors is None:
            return schedule
        receivers, sizes = zip(*map(self.transform.receiver, schedule.receiver), strict=True)
        factors = schedule.power_factors / np.square(sizes)
        schedule = schedule._replace(receiver=np.stack(receivers), power_factors=factors)
        self.verify(schedule, method, keeps_tolerance=keeps_tolerance)
        return schedule

    def verify_active(self, schedule: Schedule, method: Method, *, keeps_tolerance: bool) -> None:
        """Check a schedule with active devices, using only what was stated."""
        receivers, factors, errors = (
            schedule.receiver,
            schedule.power_factors,
            schedule.computation_errors,
        )
        if receivers is None or factors is None or errors is None:
            raise VerificationError("active devices need a receiver on every subcarrier")
        if not np.isin(self.reduced.required, schedule.active).all():
            raise VerificationError("a required device is not active")
        stated, noise = self.stated, self.noise_covariance
        if noise is None:
            noise = stated.noise_variance * np.eye(stated.antennas, dtype=np.complex128)
        power = np.broadcast_to(stated.power if self.power is None else self.power, stated.devices)
        for f, channels in enumerate(stated.channels):
            own = schedule._replace(
                receiver=receivers[f],
                power_factor=float(factors[f]),
                computation_error=float(errors[f]),
                transmit_scalars=schedule.transmit_scalars[f],
            )
            verify_in_cell(
                channels,
                stated.stacked,
                power,
                noise,
                own,
                method,
                keeps_tolerance=keeps_tolerance and stated.each,
            )
        compared = float(errors.max() if stated.each else errors.mean())
        bounded = method == "zero_forcing" and keeps_tolerance
        if bounded and compared > stated.max_error * (1 + ROUNDING):
            raise VerificationError("the error over the subcarriers exceeds the tolerance")


def state_in_cell(
    stated: WidebandProblem,
    *,
    power: RealArray | None,
    noise_covariance: ComplexArray | None,
    excluded: IndexArray,
    required: IndexArray,
    previous: IndexArray,
) -> WidebandProblem | BandCell:
    """Return ``stated`` as the cell that these describe, or as a standard problem if it is one.

    Raises
    ------
    InvalidProblemError
        The arguments contradict each other.
    """
    named = (excluded, required, previous)
    if power is None and noise_covariance is None:
        return state(stated, *named)
    white = None if noise_covariance is None else whitening(noise_covariance, stated.noise_variance)
    amplitudes = None if power is None else np.sqrt(power / stated.power)
    transform = Transform(stated.antennas, stated.devices, white, amplitudes)
    changed: dict[str, Any] = {}
    if stated.uncertain:
        largest = 1.0 if white is None else float(np.linalg.norm(white, 2))
        changed["csi_error"] = transform.per_device(stated.errors * largest, amplitudes)
    standard = stated.in_coordinates(transform.to_antennas, transform.to_devices, **changed)
    reduced = state(standard, *named)
    return BandCell(stated, reduced, transform, power, noise_covariance)
