r"""From a cell as it is to the standard problem, and back: an exact change of coordinates.

The standard problem has white noise of variance :math:`\sigma^2`, one power limit P, and no more
antennas than devices. A cell has noise of covariance :math:`R = LL^H`, power limits :math:`P_k`,
and devices that do not exist for this round. With

.. math:: A = \sigma L^{-H} Q, \qquad g_k = \sqrt{P_k/P}\,A^H h_k ,

the channels :math:`g_k` state the standard problem, and from its schedule
:math:`(\tilde c, \tilde\eta, \tilde\psi)`

.. math:: m = A\tilde c, \quad c = m/\|m\|, \quad \eta = \tilde\eta/\|m\|^2, \quad
    \psi_k = \sqrt{P_k/P}\,\tilde\psi_k

is that of the cell, with the same error: :math:`c^H R c/\eta = \sigma^2/\tilde\eta`. Q has
orthonormal columns that span the whitened channels, and is there only if they are fewer than the
antennas: a receiver outside their span hears noise alone.
"""

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from app.scheduling.any_problem import AnyProblem, InvalidProblemError
from app.scheduling.problem import frozen
from app.scheduling.schedule import Method, Schedule
from app.scheduling.types import ComplexArray, IndexArray, RealArray
from app.scheduling.verification import is_empty

Values = TypeVar("Values", ComplexArray, RealArray)
Standard = TypeVar("Standard", bound=AnyProblem)

MAX_CONDITION = 1e10
"""Largest condition number of a noise covariance: beyond it, rounding decides what is noise."""

_HERMITIAN = 1e-9


@dataclass(frozen=True, eq=False)
class Transform:
    """A change of coordinates; parts that change nothing are None.

    Parameters
    ----------
    antennas, devices
        N and K of the cell.
    basis
        (N, N') complex A.
    amplitudes
        (K,) √(P_k/P).
    kept
        Ascending indices of the devices that take part.
    """

    antennas: int
    devices: int
    basis: ComplexArray | None = None
    amplitudes: RealArray | None = None
    kept: IndexArray | None = None

    def to_antennas(self, columns: ComplexArray) -> ComplexArray:
        """Return Aᴴ times ``columns`` (N, …)."""
        return columns if self.basis is None else self.basis.conj().T @ columns

    def to_devices(self, columns: ComplexArray) -> ComplexArray:
        """Return ``columns`` (…, K) of the devices that take part, times √(P_k/P)."""
        return self.per_device(columns, self.amplitudes)

    def per_device(self, values: Values, scale: RealArray | None = None) -> Values:
        """Return ``values`` (…, K) of the devices that take part, times ``scale`` (K,)."""
        if scale is not None:
            values = np.asarray(values * scale, values.dtype)
        return values if self.kept is None else values[..., self.kept]

    def to_standard(self, receiver: ComplexArray | None) -> ComplexArray | None:
        """Return c̃ (N',) with A c̃ nearest to a receiver of the cell (N,); exact if A is square."""
        if receiver is None or self.basis is None:
            return receiver
        return np.asarray(np.linalg.lstsq(self.basis, receiver, rcond=None)[0], np.complex128)

    def receiver(self, receiver: ComplexArray) -> tuple[ComplexArray, float]:
        """Return c = A c̃/‖A c̃‖ (N,) and ‖A c̃‖."""
        if self.basis is None:
            return receiver, 1.0
        mapped = self.basis @ receiver
        size = math.sqrt(np.vdot(mapped, mapped).real)
        return mapped / size, size

    def scalars(self, scalars: ComplexArray) -> ComplexArray:
        """Return ψ (K,) of all devices from ψ̃ of those that take part."""
        if self.kept is not None:
            spread = np.zeros(self.devices, np.complex128)
            spread[self.kept] = scalars
            scalars = spread
        return scalars if self.amplitudes is None else scalars * self.amplitudes

    def indices(self, active: IndexArray) -> IndexArray:
        """Return the cell's indices of devices that take part."""
        return active if self.kept is None else self.kept[active]

    def columns(self, devices: IndexArray) -> IndexArray:
        """Return the standard problem's indices of devices of the cell, which all take part."""
        return devices if self.kept is None else np.searchsorted(self.kept, devices)


@dataclass(frozen=True, eq=False)
class StatedProblem(AnyProblem, Generic[Standard]):
    """A round as it was stated, and the standard problem that it comes down to.

    Parameters
    ----------
    stated
        The round with the channels of all devices at all antennas. Its power limit is the largest
        P_k, its noise variance the mean over the antennas.
    reduced
        The standard problem.
    transform
        From its schedules to those of the round.
    power
        (K,) power limits P_k; None if all have the stated one.
    noise_covariance
        (N, N) complex R; None for white noise.
    """

    stated: Standard
    reduced: Standard
    transform: Transform
    power: RealArray | None = None
    noise_covariance: ComplexArray | None = None

    weights: RealArray = field(init=False, repr=False)
    gamma: float = field(init=False, repr=False)
    priorities: RealArray | None = field(init=False, repr=False)
    uncertain: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", self.stated.weights)
        object.__setattr__(self, "gamma", self.stated.gamma)
        object.__setattr__(self, "priorities", self.reduced.priorities)
        object.__setattr__(self, "uncertain", self.reduced.uncertain)

    @property
    def standard(self) -> Standard:
        """The problem that algorithms solve."""
        return self.reduced

    @property
    def sizes(self) -> Mapping[str, int]:
        """Those of the standard problem: what an algorithm has to deal with."""
        return self.reduced.sizes

    @property
    def entries(self) -> int:
        """Number of channel coefficients of the standard problem."""
        return self.reduced.entries

    @property
    def receiver_shape(self) -> tuple[int, ...]:
        """That of a receiver for all antennas."""
        return self.stated.receiver_shape

    @property
    def why_no_bound(self) -> str | None:
        """As for the standard problem."""
        return self.reduced.why_no_bound

    def exact(self, budget: float) -> AnyProblem:
        """Return the standard problem as if the channel estimates were right."""
        return self.reduced.exact(budget)

    def verify(
        self, schedule: Schedule, method: Method = "zero_forcing", *, keeps_tolerance: bool = True
    ) -> None:
        """Check a schedule, using only what was stated.

        Raises
        ------
        VerificationError
            A formula does not hold, or the set is not allowed.
        """
        if not is_empty(schedule):
            self.verify_active(schedule, method, keeps_tolerance=keeps_tolerance)

    @abstractmethod
    def verify_active(self, schedule: Schedule, method: Method, *, keeps_tolerance: bool) -> None:
        """Check a schedule with active devices."""


def whitening(covariance: ComplexArray, noise_variance: float) -> ComplexArray:
    """Return σL⁻ᴴ (N, N) for the noise covariance R = LLᴴ."""
    lower = np.linalg.cholesky(covariance)
    identity = np.eye(covariance.shape[0], dtype=np.complex128)
    inverse = np.linalg.solve(lower.conj().T, identity)
    return np.asarray(math.sqrt(noise_variance) * inverse, np.complex128)


def span(columns: ComplexArray) -> ComplexArray | None:
    """Return Q (N, N') with orthonormal columns that span ``columns``; None if N is no larger."""
    antennas, count = columns.shape
    return None if antennas <= count else np.asarray(np.linalg.qr(columns)[0], np.complex128)


def checked_covariance(covariance: object, antennas: int) -> ComplexArray:
    """Return a noise covariance as a Hermitian array, or say what is wrong with it.

    Raises
    ------
    InvalidProblemError
        It is not Hermitian positive definite, or so ill-conditioned that rounding would decide.
    """
    matrix = frozen("noise_covariance", covariance, np.complex128)  # type: ignore[arg-type]
    if matrix.shape != (antennas, antennas):
        raise InvalidProblemError(
            "noise_covariance",
            f"must be {antennas} × {antennas}, one row per antenna, not {list(matrix.shape)}",
        )
    largest = np.abs(matrix).max()
    if not np.isfinite(largest) or largest == 0.0:
        raise InvalidProblemError("noise_covariance", "must be finite, and not zero")
    if np.abs(matrix - matrix.conj().T).max() > _HERMITIAN * largest:
        raise InvalidProblemError("noise_covariance", "must be Hermitian: equal to its adjoint")
    matrix = (matrix + matrix.conj().T) / 2
    values = np.linalg.eigvalsh(matrix)
    if values[0] <= 0.0:
        raise InvalidProblemError(
            "noise_covariance",
            f"must be positive definite; its least eigenvalue is {values[0]:.3g}. Every antenna "
            "has thermal noise: add it to the diagonal",
        )
    condition = values[-1] / values[0]
    if condition > MAX_CONDITION:
        raise InvalidProblemError(
            "noise_covariance",
            f"has a condition number of {condition:.2g}, where at most {MAX_CONDITION:g} can be "
            "computed with; add thermal noise to the diagonal",
        )
    matrix.flags.writeable = False
    return matrix
