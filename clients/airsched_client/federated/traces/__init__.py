"""Traces: channels that were measured or simulated elsewhere, one matrix or band per round.

A trace is an ``.npz`` file, as :func:`numpy.savez` writes it:

    channels           (R, N, K) complex64 or complex128: round, antenna, device; over a band
                       (R, F, N, K): round, subcarrier, antenna, device
    estimates          the same for what the server knows; equal to ``channels`` if left out
    power              P, the transmit power limit that the channels go with; optional
    noise_variance     σ² that the channels go with; optional
    positions          (K, 2) or (K, 3) metres; optional
    carrier_frequency  hertz; optional

Other arrays are ignored. A device without a path has channel 0, which leaves it out.

**Units**: measured channels are tiny, and so is σ² in watts. With them, γ = Pε/σ² would have to be
enormous to serve anybody. Multiplied by √(P/σ²), the channels go with P = σ² = 1, and γ is the
tolerated error ε itself. This never happens silently: a trace with other values than those of the
experiment is refused, and ``python -m airsched_client.federated.traces`` writes a scaled one.

A file that is not compressed is memory-mapped, so a trace may be larger than the memory.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from airsched_client.federated.channels import Channels
from airsched_client.federated.traces.npz import read_arrays

__all__ = ["Trace", "gains"]

Complex = NDArray[np.complex128]
Real = NDArray[np.float64]

_SCALARS = ("power", "noise_variance", "carrier_frequency")
_KNOWN = ("channels", "estimates", "positions", *_SCALARS)


@dataclass(frozen=True, eq=False)
class Trace:
    """Channels of R rounds.

    Parameters
    ----------
    path
        Where it was read.
    channels, estimates
        (R, N, K) or (R, F, N, K) complex, h and ĥ; the estimates are None if they are exact.
    power, noise_variance, carrier_frequency
        P, σ² and hertz; None if the file does not say.
    positions
        (K, 2) or (K, 3) metres, or None.
    ignored
        Names of the file's other arrays.
    """

    path: Path
    channels: NDArray[Any]
    estimates: NDArray[Any] | None = None
    power: float | None = None
    noise_variance: float | None = None
    carrier_frequency: float | None = None
    positions: Real | None = None
    ignored: tuple[str, ...] = ()

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Open a trace and check its shapes; values are checked when a round is used.

        Raises
        ------
        ValueError
            The file is not a trace; the message says what to change.
        """
        path = Path(path)
        arrays = dict(read_arrays(path))
        if "channels" not in arrays:
            raise ValueError(
                f"{path} has no array `channels`; it has {', '.join(arrays) or 'none'}"
            )
        return cls(
            path,
            arrays["channels"],
            arrays.get("estimates"),
            _scalar(path, "power", arrays),
            _scalar(path, "noise_variance", arrays),
            _scalar(path, "carrier_frequency", arrays),
            arrays.get("positions"),
            ignored=tuple(name for name in arrays if name not in _KNOWN),
        )

    def __post_init__(self) -> None:
        found = f"it is {self.channels.dtype} of shape {self.channels.shape}"
        if self.channels.ndim not in (3, 4) or not np.iscomplexobj(self.channels):
            raise ValueError(
                f"{self.path}: `channels` must be complex, rounds × antennas × devices, or over a"
                f" band rounds × subcarriers × antennas × devices; {found}"
            )
        if not self.channels.size:
            raise ValueError(f"{self.path}: `channels` is empty; {found}")
        if self.estimates is not None and (
            self.estimates.shape != self.channels.shape or not np.iscomplexobj(self.estimates)
        ):
            raise ValueError(
                f"{self.path}: `estimates` must be complex with the shape of `channels`,"
                f" {self.channels.shape}; it is {self.estimates.dtype} of {self.estimates.shape}"
            )
        if self.positions is not None and self.positions.shape not in (
            (self.devices, 2),
            (self.devices, 3),
        ):
            raise ValueError(
                f"{self.path}: `positions` must have 2 or 3 coordinates for each of"
                f" {self.devices} devices; its shape is {self.positions.shape}"
            )

    def __len__(self) -> int:
        return len(self.channels)

    @property
    def subcarriers(self) -> int:
        """F; 1 if it is not over a band."""
        return int(self.channels.shape[1]) if self.channels.ndim == 4 else 1

    @property
    def antennas(self) -> int:
        """N."""
        return int(self.channels.shape[-2])

    @property
    def devices(self) -> int:
        """K."""
        return int(self.channels.shape[-1])

    def scalars(self) -> dict[str, float]:
        """Return power, noise variance and carrier frequency, those that the file has."""
        values = {name: getattr(self, name) for name in _SCALARS}
        return {name: value for name, value in values.items() if value is not None}

    def at(self, number: int) -> Channels:
        """Return the channels of a round; after the last round the trace starts again."""
        direct = self._finite(self.channels, number)
        if self.estimates is None:
            return Channels(direct, direct)
        return Channels(direct, self._finite(self.estimates, number))

    def average_gains(self) -> Real:
        """Return the mean of ‖h_k‖² over the rounds and subcarriers, (K,)."""
        total = np.zeros(self.devices)
        for number in range(len(self)):
            total += gains(self.at(number).direct)
        return total / len(self)

    def require(self, power: float, noise_variance: float) -> None:
        """Raise ValueError if the trace says another P or σ²."""
        requested = {"power": power, "noise_variance": noise_variance}
        said = {name: value for name, value in self.scalars().items() if name in requested}
        if any(
            not np.isclose(value, requested[name], rtol=1e-6, atol=0)
            for name, value in said.items()
        ):
            raise ValueError(
                f"{self.path} goes with {_words(said)}, not with {_words(requested)}: write one for"
                f" P = σ² = 1 with `python -m airsched_client.federated.traces {self.path}"
                " --scale scaled.npz`, or use its own values"
            )

    def save_scaled(self, path: Path) -> None:
        """Write the trace for P = σ² = 1: every channel multiplied by √(P/σ²)."""
        if self.power is None or self.noise_variance is None:
            raise ValueError(
                f"{self.path} does not say its `power` and `noise_variance`:"
                " add both to the file, then scale it"
            )
        if path.exists() and path.samefile(self.path):
            raise ValueError(f"{path} is the trace itself: write the scaled one to another file")
        factor = np.sqrt(self.power / self.noise_variance)
        kept = {
            name: getattr(self, name)
            for name in ("positions", "carrier_frequency")
            if getattr(self, name) is not None
        }
        scaled = {
            name: (factor * getattr(self, name)).astype(getattr(self, name).dtype)
            for name in ("channels", "estimates")
            if getattr(self, name) is not None
        }
        # A path would get another suffix; a file is written as it is named.
        with path.open("wb") as file:
            np.savez(file, power=1.0, noise_variance=1.0, **scaled, **kept)

    def _finite(self, array: NDArray[Any], number: int) -> Complex:
        index = number % len(self)
        found = np.asarray(array[index], np.complex128)
        if not np.isfinite(found).all():
            device = int(np.nonzero(~np.isfinite(found))[-1].min())
            raise ValueError(
                f"{self.path}: round {index} has values that are not finite, first for device"
                f" {device}; the channel of a device without a path is 0"
            )
        return found[0] if self.subcarriers == 1 and found.ndim == 3 else found


def _scalar(path: Path, name: str, arrays: Mapping[str, NDArray[Any]]) -> float | None:
    array = arrays.get(name)
    if array is None:
        return None
    number = array.size == 1 and np.issubdtype(array.dtype, np.number) and np.isrealobj(array)
    if not number or not 0 < array.item() < np.inf:
        raise ValueError(f"{path}: `{name}` must be one positive number")
    return float(array.item())


def _words(values: dict[str, float]) -> str:
    return " and ".join(f"{name} {value:g}" for name, value in values.items())


def gains(channels: Complex) -> Real:
    """Return ‖h_k‖², (K,); over a band its mean over the subcarriers."""
    powers = np.sum(np.abs(channels) ** 2, axis=-2)
    return np.asarray(np.mean(np.atleast_2d(powers), axis=0))
