"""Where the channels of a round come from."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from airsched_client.federated.channels import Channels, NetworkParameters
from airsched_client.federated.fading import Fading, NetworkFading, TraceFading
from airsched_client.federated.traces import Trace
from airsched_client.options import ScheduleOptions

Complex = NDArray[np.complex128]

_log = logging.getLogger("flwr")


@dataclass(frozen=True, eq=False)
class Device:
    """A node, as it describes itself.

    Parameters
    ----------
    node_id
        Flower's number of the node, another in every run.
    samples
        How many training samples it has.
    index
        Which device of a network or a trace it is; None if it does not say.
    channel
        (N,) complex, its uplink channel, if it reports one.
    """

    node_id: int
    samples: float
    index: int | None = None
    channel: Complex | None = None

    @property
    def name(self) -> int:
        """The index, or the node id if there is none."""
        return self.node_id if self.index is None else self.index


class ChannelSource(Protocol):
    """Knows the uplink of every device in a round."""

    @property
    def reported(self) -> bool:
        """Whether the nodes must be asked anew in every round."""

    @property
    def options(self) -> ScheduleOptions:
        """What the channels go with and every request must say: ``power`` and so on; or nothing."""

    def channels(self, server_round: int, devices: Sequence[Device]) -> Channels:
        """Return the channels of round 1, 2, …: (N, K), column k for ``devices[k]``.

        Over a band they are (F, N, K).
        """


class _FadingSource:
    """Looks up a node's column by its index."""

    reported = False

    def __init__(self, fading: Fading, coherence: int, options: ScheduleOptions) -> None:
        if coherence < 1:
            raise ValueError("coherence must be at least one round")
        self._fading, self._coherence, self.options = fading, coherence, options

    def channels(self, server_round: int, devices: Sequence[Device]) -> Channels:
        """Return the columns of the devices."""
        columns = [self._column(device) for device in devices]
        if len(set(columns)) < len(columns):
            raise ValueError("two nodes have the same partition-id: give each SuperNode its own")
        every = self._fading.channels((server_round - 1) // self._coherence)
        return Channels(every.direct[..., columns], every.estimates[..., columns])

    def _column(self, device: Device) -> int:
        if device.index is None or not 0 <= device.index < self._fading.devices:
            raise ValueError(
                f"node {device.node_id} has partition-id {device.index}, but there are channels for"
                f" 0 … {self._fading.devices - 1}: start its SuperNode with --node-config"
                " 'partition-id=…', or take more devices"
            )
        return device.index


class NetworkSource(_FadingSource):
    """The paper's network, with the channels of :mod:`airsched_client.federated` at this seed.

    Parameters
    ----------
    parameters
        Of the network; its ``csi_error`` is sent with every request.
    coherence
        Number of rounds between changes of the fading.
    """

    def __init__(
        self,
        parameters: NetworkParameters | None = None,
        seed: int = 0,
        coherence: int = 1,
    ) -> None:
        parameters = parameters or NetworkParameters()
        if parameters.elements:
            raise ValueError("the strategy tunes no reflecting surface: leave out elements")
        if parameters.is_cell:
            raise ValueError(
                "the strategy's air has one power limit and white noise: leave out power_spread_db"
                " and interference_db"
            )
        known = ScheduleOptions(csi_error=parameters.csi_error) if parameters.csi_error else {}
        super().__init__(NetworkFading(parameters, seed), coherence, known)


class TraceSource(_FadingSource):
    """A trace from round ``start`` on, and then again from its beginning.

    The ``power`` and ``noise_variance`` that the trace says, if any, are sent with every request.

    Parameters
    ----------
    coherence
        Number of rounds of training for which a round of the trace stays.
    """

    def __init__(self, trace: Trace | Path | str, start: int = 0, coherence: int = 1) -> None:
        trace = trace if isinstance(trace, Trace) else Trace.open(trace)
        known = ScheduleOptions()
        if trace.power is not None:
            known["power"] = trace.power
        if trace.noise_variance is not None:
            known["noise_variance"] = trace.noise_variance
        fading = TraceFading(trace, start, trace.power or 1.0, trace.noise_variance or 1.0)
        super().__init__(fading, coherence, known)


class ReportedSource:
    """What the nodes themselves report in every round, as in a deployment.

    A node whose report is not N finite numbers has channel 0 in that round, which leaves it out.

    Parameters
    ----------
    antennas
        N.
    """

    reported = True

    def __init__(self, antennas: int) -> None:
        self._antennas, self.options = antennas, ScheduleOptions()

    def channels(self, server_round: int, devices: Sequence[Device]) -> Channels:
        """Return the reports as columns; they are taken as exact."""
        matrix = np.zeros((self._antennas, len(devices)), complex)
        for column, device in enumerate(devices):
            reported = device.channel
            if reported is None or reported.shape != (self._antennas,):
                shape = (
                    "no channel" if reported is None else f"a channel of {reported.size} numbers"
                )
                problem = f"{shape}, not of {self._antennas}"
            elif not np.isfinite(reported).all():
                problem = "a channel that is not finite"
            else:
                matrix[:, column] = reported
                continue
            _log.warning("node %s reports %s: it is left out", device.node_id, problem)
        return Channels(matrix, matrix)
