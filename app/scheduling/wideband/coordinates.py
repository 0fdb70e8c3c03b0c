"""A round over a band with power limits per device and coloured noise, as a standard one.

The change of coordinates of :mod:`app.scheduling.cells.transform`, the same on every subcarrier: R
is the noise covariance of each, and :math:`P_k` what device k may send on each.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from app.scheduling.any_problem import AnyProblem
from app.scheduling.cells.transform import Transform, whitening
from app.scheduling.cells.verification import ROUNDING, verify_in_cell
from app.scheduling.schedule import Method, Schedule
from app.scheduling.types import ComplexArray, IndexArray, RealArray
from app.scheduling.verification import VerificationError
from app.scheduling.wideband.cell import state
from app.scheduling.wideband.problem import WidebandProblem


@dataclass(frozen=True, eq=False)
class BandCell(AnyProblem):
    """A round over a band as it was stated, and the standard problem that it comes down to.

    Parameters
    ----------
    stated
        The round, with the largest power limit and the mean noise variance.
    reduced
        The standard problem.
    transform
        From its schedules to those of the cell.
    power, noise_covariance
        (K,) P_k and (N, N) complex R; None if they are as stated.
    """

    stated: WidebandProblem
    reduced: WidebandProblem
    transform: Transform
    power: RealArray | None = None
    noise_covariance: ComplexArray | None = None

    weights: RealArray = field(init=False, repr=False)
    gamma: float = field(init=False, repr=False)
    priorities: RealArray | None = field(init=False, repr=False)
    uncertain: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("weights", "gamma", "priorities", "uncertain"):
            object.__setattr__(self, name, getattr(self.reduced, name))

    @property
    def standard(self) -> WidebandProblem:
        """The problem that algorithms solve."""
        return self.reduced

    @property
    def sizes(self) -> Mapping[str, int]:
        """Those of the standard problem."""
        return self.reduced.sizes

    @property
    def entries(self) -> int:
        """Number of channel coefficients."""
        return self.reduced.entries

    @property
    def receiver_shape(self) -> tuple[int, ...]:
        """F receivers for N antennas."""
        return self.reduced.receiver_shape

    @property
    def why_no_bound(self) -> str | None:
        """As for the standard problem."""
        return self.reduced.why_no_bound

    def exact(self, budget: float) -> AnyProblem:
        """Return the standard problem as if the channel estimates were right."""
        return self.reduced.exact(budget)

    def to_standard(self, receiver: ComplexArray | None) -> ComplexArray | None:
        """Return receivers of the cell (F, N) as those of the standard problem."""
        mapped = self.transform.to_standard(None if receiver is None else receiver.T)
        return None if mapped is None else np.ascontiguousarray(mapped.T)

    def solved(self, solve: Callable[[AnyProblem, Any], Schedule], spec: Any) -> Schedule:
        """Solve the standard problem; return its schedule in the cell's coordinates, verified."""
        spec = replace(spec, warm_start=self.to_standard(spec.warm_start))
        return self.restored(solve(self.reduced, spec), spec.coordination)

    def restored(self, schedule: Schedule, method: Method) -> Schedule:
        """Return the schedule of the cell that one of the standard problem stands for, verified."""
        schedule = schedule._replace(
            transmit_scalars=self.transform.scalars(schedule.transmit_scalars)
        )
        if schedule.receiver is None or schedule.power_factors is None:
            return schedule
        receivers, sizes = zip(*map(self.transform.receiver, schedule.receiver), strict=True)
        factors = schedule.power_factors / np.square(sizes)
        schedule = schedule._replace(receiver=np.stack(receivers), power_factors=factors)
        self.verify(schedule, method)
        return schedule

    def verify(self, schedule: Schedule, method: Method) -> None:
        """Check a schedule with active devices, using only what was stated.

        Raises
        ------
        VerificationError
            A formula does not hold.
        """
        receivers, factors, errors = (
            schedule.receiver,
            schedule.power_factors,
            schedule.computation_errors,
        )
        if receivers is None or factors is None or errors is None:
            raise VerificationError("active devices need a receiver on every subcarrier")
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
                channels, stated.stacked, power, noise, own, method, keeps_tolerance=stated.each
            )
        compared = float(errors.max() if stated.each else errors.mean())
        if method == "zero_forcing" and compared > stated.max_error * (1 + ROUNDING):
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
    channels = np.stack([transform.channels(each) for each in stated.channels])
    reduced = state(replace(stated, channels=channels, **changed), *named)
    return BandCell(stated, reduced, transform, power, noise_covariance)
