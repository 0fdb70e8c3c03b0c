"""The channels of every round, from the paper's network or from a trace."""

from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from airsched_client.federated.channels import Channels, Network, NetworkParameters
from airsched_client.federated.streams import Purpose, stream
from airsched_client.federated.traces import Trace

Real = NDArray[np.float64]


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
