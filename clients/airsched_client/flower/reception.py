"""The air between the nodes and the server: what it makes of their models."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, Message
from numpy.typing import NDArray

from airsched_client.federated.air import AirOptions, aggregate, aggregate_band
from airsched_client.federated.streams import Purpose, stream
from airsched_client.flower.model import Model
from airsched_client.flower.round import Round, model_in
from airsched_client.flower.sources import Device
from airsched_client.models import Schedule, WidebandSchedule


class Reception:
    """Receives the mean of a round's models over the air.

    Parameters
    ----------
    options
        Imperfections of the air.
    seed
        Seed of the noise and of the nodes' hardware.
    """

    def __init__(self, options: AirOptions, seed: int) -> None:
        self._options, self._seed = options, seed
        self._amplitudes: dict[int, float] = {}

    def receive(
        self,
        server_round: int,
        current: Round,
        schedule: Schedule | WidebandSchedule,
        senders: Mapping[int, Message],
    ) -> tuple[ArrayRecord, float]:
        """Return the model that the air delivers, and its measured error.

        Parameters
        ----------
        current, schedule
            The round and its schedule.
        senders
            The replies with a model, by device.
        """
        sent = np.array(list(senders), np.int64)
        heard = replace(schedule, active=sent)
        updates = _updates(current.model, senders.values())
        air: dict[str, Any] = {
            "weights": current.weights,
            "noise_variance": current.noise_variance,
            "rng": stream(self._seed, Purpose.AIR, server_round - 1),
            "options": self._options,
            "amplitudes": self._amplitudes_of(current.devices),
        }
        channels = current.channels.direct
        if isinstance(heard, WidebandSchedule):
            every = dict(zip(sent.tolist(), updates, strict=True))
            received = aggregate_band(channels, heard.subcarriers(), updates=every, **air)
        else:
            received = aggregate(channels, heard, updates=updates, **air)
        trained = [model_in(reply) for reply in senders.values()]
        digital = current.weights[sent].tolist()
        return current.model.after(received.mean, trained, digital), received.measured_error

    def _amplitudes_of(self, devices: Sequence[Device]) -> NDArray[np.floating] | None:
        """Return every node's own deviation of power; a node keeps it for the whole run."""
        if not self._options.power_imbalance_db:
            return None
        for device in devices:
            if device.name not in self._amplitudes:
                rng = stream(self._seed, Purpose.HARDWARE, device.name)
                self._amplitudes[device.name] = float(self._options.amplitudes(1, rng)[0])
        return np.array([self._amplitudes[device.name] for device in devices])


def _updates(model: Model, replies: Iterable[Message]) -> Iterator[NDArray[np.floating]]:
    """Yield the updates one by one, so that only one is in memory."""
    for reply in replies:
        yield model.update(model_in(reply))
