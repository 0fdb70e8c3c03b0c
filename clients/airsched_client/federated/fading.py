"""The channels of every round: from the paper's network, a trace, an array, or a function."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from airsched_client.federated.channels import Channels, Network, NetworkParameters
from airsched_client.federated.streams import Purpose, stream
from airsched_client.federated.traces import Trace, gains

Real = NDArray[np.float64]


@runtime_checkable
class Fading(Protocol):
    """Knows the channels of K devices in every round."""

    @property
    def devices(self) -> int:
        """K."""

    def channels(self, number: int) -> Channels:
        """Return the channels of round 0, 1, …; the same number gives the same channels."""

    def average_gains(self) -> Real:
        """Return E‖h_k‖², (K,)."""


class NetworkFading:
    """The paper's network: the seed places the devices, seed and round draw the fading.

    Parameters
    ----------
    parameters
        The parameters of the network.
    seed
        Seed of the positions and the fading.
    """

    def __init__(self, parameters: NetworkParameters, seed: int = 0) -> None:
        self._network = Network(parameters, stream(seed, Purpose.NETWORK))
        self._seed = seed

    @property
    def devices(self) -> int:
        """K."""
        return self._network.parameters.devices

    def channels(self, number: int) -> Channels:
        """Return the channels of a round."""
        return self._network.fade(stream(self._seed, Purpose.FADING, number))

    def average_gains(self) -> Real:
        """Return E‖h_k‖², (K,)."""
        return self._network.average_gains()


ChannelFunction = Callable[[int, np.random.Generator], Any]
"""From the round and a source of randomness to its channels: (N, K), (F, N, K) or
:class:`Channels`.

The randomness follows from the seed and the round alone.
"""


class FunctionFading:
    """A function that returns the channels of a round.

    Parameters
    ----------
    function
        See :data:`ChannelFunction`.
    seed
        Seed of the randomness that it gets.
    """

    _AVERAGED = 100

    def __init__(self, function: ChannelFunction, seed: int = 0) -> None:
        self._function, self._seed = function, seed
        self._devices = self.channels(0).direct.shape[-1]

    @property
    def devices(self) -> int:
        """K."""
        return int(self._devices)

    def channels(self, number: int) -> Channels:
        """Return the channels of a round."""
        found = self._function(number, stream(self._seed, Purpose.FADING, number))
        return found if isinstance(found, Channels) else exact(found)

    def average_gains(self) -> Real:
        """Return the mean of ‖h_k‖² over the first rounds, (K,)."""
        found = [gains(self.channels(at).direct) for at in range(self._AVERAGED)]
        return np.asarray(np.mean(found, axis=0))


def exact(matrix: Any) -> Channels:
    """Return channels that the server knows exactly.

    Raises
    ------
    ValueError
        They are not finite numbers, antennas × devices or subcarriers × antennas × devices.
    """
    found = np.asarray(matrix)
    if found.ndim not in (2, 3) or found.dtype.kind not in "iufc" or not np.isfinite(found).all():
        raise ValueError(
            "the channels of a round must be finite numbers, antennas × devices or subcarriers ×"
            f" antennas × devices; these are {found.dtype} of shape {found.shape}"
        )
    direct = found.astype(np.complex128)
    return Channels(direct, direct)


class TraceFading:
    """A trace, from some round on and then again from its beginning.

    Parameters
    ----------
    trace
        A trace, or the path of one.
    start
        The round of the trace that comes first.
    power, noise_variance
        P and σ², which the trace must have been recorded for if it says so.
    """

    def __init__(
        self,
        trace: Trace | Path | str,
        start: int = 0,
        power: float = 1.0,
        noise_variance: float = 1.0,
    ) -> None:
        self._trace = trace if isinstance(trace, Trace) else Trace.open(trace)
        self._trace.require(power, noise_variance)
        self._start = start

    @property
    def devices(self) -> int:
        """K."""
        return self._trace.devices

    def channels(self, number: int) -> Channels:
        """Return the channels of a round."""
        return self._trace.at(self._start + number)

    def average_gains(self) -> Real:
        """Return the mean of ‖h_k‖² over the rounds, (K,)."""
        return self._trace.average_gains()


ChannelSource = Trace | Path | str | NDArray[Any] | ChannelFunction | Fading
"""A trace or its path; an array, rounds × antennas × devices, or seeds × those, over a band seeds ×
rounds × subcarriers × antennas × devices; a function of the round and a random generator; or an
object of your own with the methods of :class:`Fading`."""


def fading_of(
    source: ChannelSource | None,
    network: NetworkParameters,
    seed: int,
    *,
    rounds: int,
    last_seed: int,
    power: float,
    noise_variance: float,
) -> Fading:
    """Return the channels of a seed.

    Parameters
    ----------
    network
        The network to use without a source.
    rounds
        Different channels that a seed needs.
    last_seed
        The largest seed. Every seed plays another part of a trace, which must be long enough:
        seeds with the same channels would count as independent.
    """
    if source is None:
        return NetworkFading(network, seed)
    if isinstance(source, np.ndarray):
        if source.ndim in (4, 5):
            if last_seed >= len(source):
                raise ValueError(
                    f"there are channels for {len(source)} seeds, but a seed {last_seed}"
                )
            return TraceFading(_trace(source[seed]))
        source = _trace(source)
    if isinstance(source, (str, Path)):
        source = Trace.open(source)
    if isinstance(source, Trace):
        if last_seed and len(source) < (last_seed + 1) * rounds:
            raise ValueError(
                f"{source.path} has {len(source)} rounds, but {last_seed + 1} seeds need"
                f" {rounds} each, {(last_seed + 1) * rounds} in all: use fewer seeds or rounds, or"
                " a longer coherence"
            )
        return TraceFading(source, seed * rounds, power, noise_variance)
    if isinstance(source, Fading):
        return source
    if callable(source):
        return FunctionFading(source, seed)
    raise TypeError(
        "channels must be an array, a trace or its path, a function, or an object with the methods"
        f" of Fading, not {type(source).__name__}"
    )


def _trace(array: NDArray[Any]) -> Trace:
    return Trace(Path("channels"), array.astype(np.result_type(array.dtype, np.complex64)))
