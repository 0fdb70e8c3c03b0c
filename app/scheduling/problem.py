r"""The scheduling problem, frozen and checked.

Maximise :math:`|S|` over the receiver :math:`c` and the set :math:`S` of scheduled devices subject
to :math:`\phi_k^2 \|c\|^2 \le \gamma |h_k^H c|^2` for all :math:`k \in S`. With priorities
:math:`v_k`, maximise :math:`\sum_{k\in S} v_k` instead.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from app.scheduling.any_problem import AnyProblem, InvalidProblemError
from app.scheduling.kernels.formulas import SERVED_TOLERANCE, inspect
from app.scheduling.types import ColumnMap, ComplexArray, MaskArray, RealArray

Scalar = TypeVar("Scalar", np.complex128, np.float64)

LARGEST = 1e30
"""Magnitudes above this or below its reciprocal are refused: their products would overflow."""

MAX_PRIORITY = 1e6
"""Largest priority; the smallest is its reciprocal."""


@dataclass(frozen=True, eq=False)
class Problem(AnyProblem):
    """One round: the channels, the weights, and the tolerance for the aggregate's error.

    Parameters
    ----------
    channels
        (N, K) complex, H = [h_1 … h_K]: column k is device k's uplink channel.
    weights
        (K,) positive aggregation weights φ.
    gamma
        Normalised tolerance γ = Pε/σ².
    power, noise_variance
        Transmit power limit P and noise variance σ².
    csi_error
        (K,) or one number for all: bound on ‖h_k - ĥ_k‖ of the channel estimates.
    priorities
        (K,) positive v, on any scale, or None: maximise Σ v_k over S instead of its size.

    Raises
    ------
    InvalidProblemError
        A shape or value is invalid; the error names the argument.
    """

    channels: ComplexArray
    weights: RealArray
    gamma: float
    power: float = 1.0
    noise_variance: float = 1.0
    csi_error: RealArray | float = 0.0
    priorities: RealArray | None = None

    required_gains: RealArray = field(init=False, repr=False)
    """(K,) device k is served when |h_kᴴc|² for unit c is at least φ_k²/γ.

    Never less than its gain in ``resolved_gains``. With errors of the estimates, it is
    (φ_k²/γ)(1 + e_k²P/σ²): what k needs if it is alone, necessary in any set but not sufficient.
    """

    errors: RealArray = field(init=False, repr=False)
    """(K,) e_k, the bounds of ``csi_error``."""

    uncertain: bool = field(init=False, repr=False)
    """Whether any of them is positive."""

    resolved_gains: RealArray = field(init=False, repr=False)
    """(K,) a smaller gain may be nothing but rounding: a millionth or so of ‖h_k‖, squared."""

    def __post_init__(self) -> None:
        channels = frozen("channels", self.channels, np.complex128)
        if channels.ndim != 2:
            raise InvalidProblemError("channels", "must be a matrix, antennas × devices")
        if channels.size == 0:
            raise InvalidProblemError("channels", "must have at least one antenna and one device")
        devices = channels.shape[1]
        weights = frozen("weights", self.weights, np.float64)
        if weights.shape != (devices,):
            raise InvalidProblemError(
                "weights", f"must be {devices} numbers, one for each device, not {weights.size}"
            )
        for name in ("gamma", "power", "noise_variance"):
            _require_moderate(name, getattr(self, name))
        largest, least_weight, most_weight, required, resolved = inspect(
            channels, weights, self.gamma
        )
        if largest > LARGEST:
            raise InvalidProblemError(
                "channels", f"must be finite, and at most {LARGEST:g} in magnitude; rescale them"
            )
        if least_weight < 1 / LARGEST or most_weight > LARGEST:
            raise InvalidProblemError("weights", f"must be positive, up to {LARGEST:g}")
        errors, uncertain = _no_errors(devices), False
        csi_error, priorities = self.csi_error, self.priorities
        if not (isinstance(self.csi_error, float) and self.csi_error == 0.0):
            csi_error = frozen("csi_error", self.csi_error, np.float64)
            if csi_error.shape not in ((), (devices,)):
                raise InvalidProblemError("csi_error", f"must be one number or {devices} numbers")
            if not (csi_error.min() >= 0 and csi_error.max() <= LARGEST):
                raise InvalidProblemError("csi_error", f"must lie between 0 and {LARGEST:g}")
            errors = frozen("csi_error", np.broadcast_to(csi_error, devices), np.float64)
            uncertain = bool(errors.any())
        if priorities is not None:
            priorities = _checked_priorities(priorities, devices)
        required.flags.writeable = resolved.flags.writeable = False
        # All at once, because a frozen dataclass refuses assignments.
        self.__dict__.update(
            channels=channels,
            weights=weights,
            csi_error=csi_error,
            priorities=priorities,
            required_gains=required,
            resolved_gains=resolved,
            errors=errors,
            uncertain=uncertain,
        )
        if uncertain:
            self.__dict__["required_gains"] = self._required_gains()

    @property
    def sizes(self) -> Mapping[str, int]:
        """Numbers of antennas N and devices K."""
        antennas, devices = self.channels.shape
        return {"antennas": antennas, "devices": devices}

    @property
    def antennas(self) -> int:
        """Number of antennas N."""
        return int(self.channels.shape[0])

    @property
    def devices(self) -> int:
        """Number of devices K."""
        return int(self.channels.shape[1])

    @property
    def entries(self) -> int:
        """Number of channel coefficients, N·K."""
        return int(self.channels.size)

    @property
    def max_error(self) -> float:
        """Tolerable computation error ε = γσ²/P."""
        return self.gamma * self.noise_variance / self.power

    @property
    def alone_gains(self) -> RealArray:
        """(K,) the gain that each device needs if it is alone, (φ_k²/γ)(1 + e_k²P/σ²)."""
        needed = (self.weights / math.sqrt(self.gamma)) ** 2
        if self.uncertain:
            needed = needed * (1.0 + self.errors**2 * (self.power / self.noise_variance))
        return np.asarray(needed)

    def _required_gains(self) -> RealArray:
        """Return :attr:`alone_gains`, none of them less than in ``resolved_gains``."""
        required = np.maximum(self.alone_gains, self.resolved_gains)
        required.flags.writeable = False
        return required

    def as_answered(self, worth: float) -> float:
        """Return a sum of :attr:`values` as a sum of priorities; without any, a whole number."""
        return round(worth) if self.priorities is None else worth * float(self.priorities.max())

    def with_gamma(self, gamma: float) -> "Problem":
        """Return the same round with another tolerance; what they share is not checked again."""
        _require_moderate("gamma", gamma)
        other = object.__new__(Problem)
        other.__dict__.update(self.__dict__, gamma=gamma)
        other.__dict__["required_gains"] = other._required_gains()
        return other

    def exact(self, budget: float) -> "Problem":
        """Return the same round as if the estimates were right, with room for ``budget``."""
        certain = object.__new__(Problem)
        errors = _no_errors(self.devices)
        certain.__dict__.update(self.__dict__, csi_error=0.0, errors=errors, uncertain=False)
        return certain.with_gamma(self.reduced_gamma(budget))

    def reduced_gamma(self, budget: float) -> float:
        """Return the tolerance that leaves room for a sum ``budget`` of squared errors."""
        return max(self.gamma / (1 + budget * self.power / self.noise_variance), 1 / LARGEST)

    def unresolved(self) -> "Problem":
        """Return the same round, in which a gain counts even if it may be rounding."""
        other = object.__new__(Problem)
        gains = {"required_gains": self.alone_gains, "resolved_gains": np.zeros(self.devices)}
        other.__dict__.update(self.__dict__, **gains)
        return other

    def tuned(self, phases: ComplexArray | None) -> "Problem":
        """Return the problem itself: there is no surface."""
        return self

    def allows(self, phases: ComplexArray | None) -> bool:
        """Return whether a schedule may have these phases: none, without a surface."""
        return phases is None

    def columns(self, antennas: ColumnMap, devices: ColumnMap) -> ComplexArray:
        """Return columns (N, …) that span all channels there can be in other coordinates."""
        return antennas(devices(self.channels))

    def in_coordinates(self, antennas: ColumnMap, devices: ColumnMap, **changed: Any) -> "Problem":
        """Return the same round in other coordinates, with some other fields ``changed``.

        Parameters
        ----------
        antennas, devices
            What maps columns (N, …), and columns (…, K) of all devices.
        """
        return replace(self, channels=antennas(devices(self.channels)), **changed)

    def served(self, receiver: ComplexArray) -> MaskArray:
        """Return which devices a unit ``receiver`` (N,) serves, as a (K,) mask."""
        gains = np.abs(receiver.conj() @ self.channels) ** 2
        return np.asarray(gains >= self.required_gains * (1 - SERVED_TOLERANCE))

    def easiest(self) -> tuple[ComplexArray, MaskArray]:
        """Return the receiver (N,) matched to the device that is easiest to serve, and its set.

        What a search answers that is stopped before it has found anything. If it serves nobody, no
        receiver does.
        """
        norms = np.linalg.norm(self.channels, axis=0)
        device = np.argmax(norms / np.sqrt(self.required_gains))
        receiver = self.channels[:, device] / (norms[device] or 1.0)
        return receiver, self.served(receiver)


@lru_cache(maxsize=64)
def _no_errors(devices: int) -> RealArray:
    """Return zeros (K,), read-only."""
    errors = np.zeros(devices)
    errors.flags.writeable = False
    return errors


def _require_moderate(name: str, value: float) -> None:
    """Raise :class:`InvalidProblemError` unless ``value`` is positive and not extreme."""
    if not 1 / LARGEST <= value <= LARGEST:
        raise InvalidProblemError(name, f"must be positive, from {1 / LARGEST:g} to {LARGEST:g}")


def _checked_priorities(priorities: ArrayLike, devices: int) -> RealArray:
    """Return ``priorities`` as an array of ``devices`` numbers within their bounds."""
    checked = frozen("priorities", priorities, np.float64)
    if checked.shape != (devices,):
        raise InvalidProblemError(
            "priorities", f"must be {devices} numbers, one for each device, not {checked.size}"
        )
    if not (checked.min() >= 1 / MAX_PRIORITY and checked.max() <= MAX_PRIORITY):
        raise InvalidProblemError(
            "priorities", f"must lie between {1 / MAX_PRIORITY:g} and {MAX_PRIORITY:g}"
        )
    return checked


def frozen(name: str, value: ArrayLike, dtype: type[Scalar]) -> NDArray[Scalar]:
    """Return ``value`` as a read-only contiguous array, copied unless it already is one."""
    if (
        isinstance(value, np.ndarray)
        and value.dtype == dtype
        and value.flags.c_contiguous
        and not value.flags.writeable
    ):
        return value
    try:
        array = np.array(value, dtype=dtype, order="C")
    except (TypeError, ValueError) as error:
        raise InvalidProblemError(name, f"must be numbers in equal rows ({error})") from None
    array.flags.writeable = False
    return array
