"""The fields of a request other than its channels, for both clients and all calls."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypedDict

from numpy.typing import ArrayLike


class CommonOptions(TypedDict, total=False):
    """Options of every call; those left out or None take the service's defaults."""

    weights: ArrayLike | None
    """(K,) positive aggregation weights φ (default: all 1)."""
    power: ArrayLike | None
    """() or (K,) transmit power limit P of every device, or of each (default: 1)."""
    noise_variance: float | None
    """Noise variance σ² at an antenna (default: 1)."""
    noise_covariance: ArrayLike | None
    """(N, N) complex covariance of noise and interference, in place of ``noise_variance``."""
    excluded: Iterable[int | str] | None
    """Indices or names of devices that do not take part."""
    required: Iterable[int | str] | None
    """Indices or names of devices that must take part."""
    previous: Iterable[int | str] | None
    """Indices or names of the last round's devices, to keep where that costs no device."""
    device_ids: Iterable[str] | None
    """K distinct names, returned for the active devices."""
    algorithm: str | Mapping[str, Any] | None
    """A name, or a name with parameters such as ``{"name": "dual_pursuit", "starts": 8}``
    (default: matching pursuit; for a frontier and a band, dual pursuit)."""
    csi_error: ArrayLike | None
    """() or (K,) bound on the error of the channel estimates, ‖h_k - ĥ_k‖ (default: 0)."""
    coordination: Literal["zero_forcing", "mmse"] | None
    """How the transmit scalars are set (default: zero forcing)."""
    warm_start: ArrayLike | None
    """(N,) complex, last round's receiver, for algorithms that can start from one."""
    deadline_ms: float | None
    """Milliseconds that the service may take (default: its own limit)."""
    seed: int | None
    """Source of randomness (default: 0)."""
    priorities: ArrayLike | None
    """(K,) positive, on any scale: maximise their sum over the active devices, not the number."""


class ScheduleOptions(CommonOptions, total=False):
    """Options of a schedule within a tolerance.

    Exactly one of ``gamma``, ``gamma_db`` and ``max_error`` is required.
    """

    gamma: float | None
    """Tolerance γ = Pε/σ²."""
    gamma_db: float | None
    """γ in decibels, 10·log10 γ."""
    max_error: float | None
    """Tolerable computation error ε."""
    polish: bool | None
    """Whether to replace the receiver by the one with the least error for the set found."""
    bound: bool | None
    """Whether to prove what any receiver can serve at most: devices, or the sum of priorities."""
    bound_ms: float | None
    """Milliseconds that the proof may take for each round (default: the service's)."""


class WidebandOptions(ScheduleOptions, total=False):
    """Options of a schedule over a band: the warm start is (F, N), the power per subcarrier."""

    criterion: Literal["mean", "each"] | None
    """What the tolerance limits: the mean of the subcarriers' errors (default), or each."""


class FrontierOptions(CommonOptions, total=False):
    """Options of a frontier."""

    min_devices: int | None
    """Leave out points with fewer active devices (default: 1)."""
    max_error: float | None
    """Leave out points with a larger error (default: none)."""
    participation: float | None
    """ρ of the point that the service recommends (default: 30)."""


class IrsOptions(ScheduleOptions, total=False):
    """Options of a schedule with an intelligent reflecting surface of M elements."""

    phase_bits: int | None
    """Restricts every phase to 2^bits levels (default: continuous)."""
    initial_phases: ArrayLike | None
    """(M,) complex of unit modulus, the phases to start from (default: all 1)."""
