"""FedAvg over the air: the service schedules the nodes, the antennas receive their sum.

With θ the global model before a round and S its schedule, the nodes in S train from θ to θ_k, and

    θ ← θ + Σ_{k∈S} φ_k (θ_k − θ) / Σ_{k∈S} φ_k   + the noise of the air,

φ_k ∝ the node's number of samples: see :mod:`airsched_client.federated.air`. A scheduled node that
fails or is late is missing from the sum, and from the divisor too; the noise stays as it was. When
nobody can be served or nobody sends, the model is unchanged.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MessageType, MetricRecord, RecordDict
from flwr.serverapp import Grid
from flwr.serverapp.strategy import FedAvg
from numpy.typing import NDArray

from airsched_client._retry import Patience
from airsched_client.client import SchedulerClient
from airsched_client.federated.air import aggregate
from airsched_client.federated.channels import Channels
from airsched_client.federated.partition import aggregation_weights
from airsched_client.federated.scheduling import request_schedule
from airsched_client.federated.streams import Purpose, stream
from airsched_client.flower.model import Model, OverTheAir
from airsched_client.flower.nodes import Nodes
from airsched_client.flower.sources import ChannelSource, Device
from airsched_client.models import Schedule, WidebandSchedule
from airsched_client.options import ScheduleOptions

_log = logging.getLogger("flwr")

_SET_HERE = frozenset({"weights", "device_ids"})
_DECIDED_BY_SERVICE = frozenset({"fraction_train", "min_train_nodes"})


@dataclass(frozen=True, eq=False)
class _Round:
    """A round between its schedule and its sum."""

    devices: Sequence[Device]
    weights: NDArray[np.float64]
    channels: Channels
    schedule: Schedule | None
    model: Model

    @property
    def active(self) -> list[int]:
        """The scheduled devices; none if no device can be served."""
        return [] if self.schedule is None else self.schedule.active.tolist()


class OverTheAirFedAvg(FedAvg):
    """FedAvg whose nodes are scheduled by the service, and whose sum is received over the air.

    Parameters
    ----------
    scheduler
        The client of the service.
    source
        Where the channels come from.
    schedule
        Options of every request: a tolerance, ``algorithm``, ``noise_variance`` and so on. Without
        a tolerance every round has the best point of its frontier:
        :meth:`airsched_client.Frontier.best`. ``seed`` is that of the first round's request; every
        later round adds one.
    over_the_air
        Says of an array's name and value whether it goes over the air; all floating-point arrays
        unless told otherwise. Leave out what noise can make invalid, such as the variances of batch
        normalisation: such arrays go digitally.
    seed
        Seed of the noise.
    query_timeout
        Seconds to wait for the nodes to describe themselves.
    patience
        How long to retry while the service is down; every wait is logged.
    fedavg
        Other options of :class:`flwr.serverapp.strategy.FedAvg`, such as ``min_available_nodes``.

    Every round adds to the metrics

    - ``air-devices``, ``air-active`` and ``air-sent``: how many nodes there were, were scheduled,
      and sent a model;
    - ``air-schedule``: the scheduled ones, by index or else by node id;
    - ``air-computation-error`` and ``air-measured-error``: what the service reported, and what the
      simulated air produced.
    """

    def __init__(
        self,
        scheduler: SchedulerClient,
        source: ChannelSource,
        *,
        schedule: ScheduleOptions | None = None,
        over_the_air: OverTheAir = lambda name, array: True,
        seed: int = 0,
        query_timeout: float = 600.0,
        patience: Patience | None = None,
        **fedavg: Any,
    ) -> None:
        schedule = schedule or {}
        if clash := sorted(_SET_HERE & schedule.keys()):
            raise ValueError(f"the strategy itself sets {', '.join(clash)} in every round")
        if clash := sorted(_DECIDED_BY_SERVICE & fedavg.keys()):
            raise ValueError(f"the service decides who trains: leave out {', '.join(clash)}")
        super().__init__(**fedavg)
        self._scheduler = scheduler.with_options(retries=patience or Patience(tell=_log.warning))
        self._source, self._options = source, schedule
        self._over_the_air, self._seed = over_the_air, seed
        self._nodes = Nodes(query_timeout)
        self._round: _Round | None = None

    def summary(self) -> None:
        """Log what every request asks for."""
        _log.info("\t├──> Scheduled by the service: %s", self._options)
        _log.info("\t└──> Minimum available nodes: %s", self.min_available_nodes)

    def schedule_options(self, server_round: int, devices: Sequence[Device]) -> ScheduleOptions:
        """Return the options of a round's request; override it for some that change."""
        first = self._options.get("seed") or 0
        return {**self._options, "seed": first + server_round - 1}

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Ask the service for a schedule, and return a message for each scheduled node."""
        self._round = None
        devices = self._nodes.devices(grid, self.min_available_nodes, anew=self._source.reported)
        if not devices:
            _log.warning("configure_train: no node has described itself; nobody trains")
            return []
        weights = aggregation_weights([device.samples for device in devices])
        channels = self._source.channels(server_round, devices)
        options = self.schedule_options(server_round, devices)
        options["weights"] = weights
        options["device_ids"] = [str(device.node_id) for device in devices]
        schedule = request_schedule(self._scheduler, channels, options)
        if isinstance(schedule, WidebandSchedule):
            raise ValueError("the strategy sends over one subcarrier: the channels must be N×K")
        self._round = _Round(
            devices, weights, channels, schedule, Model(arrays, self._over_the_air)
        )
        active = self._round.active
        error = None if schedule is None else schedule.computation_error
        _log.info(
            "configure_train: %s of %s nodes scheduled, computation error %s",
            len(active),
            len(devices),
            "none" if error is None else f"{error:.3g}",
        )
        config["server-round"] = server_round
        record = RecordDict({self.arrayrecord_key: arrays, self.configrecord_key: config})
        nodes = [devices[k].node_id for k in active]
        return [Message(record, node, MessageType.TRAIN) for node in nodes]

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Return the model after the sum that the air delivers, and the metrics."""
        current, self._round = self._round, None
        if current is None:
            return None, None
        schedule = current.schedule
        # By who replied: the error of a node that died carries another node's number.
        valid, _ = self._check_and_log_replies(list(replies), is_train=True)
        contents = {message.metadata.src_node_id: message.content for message in valid}
        updates = self._updates(current, contents)
        scheduled = [current.devices[k] for k in current.active]
        told: dict[str, Any] = {
            "air-devices": len(current.devices),
            "air-active": len(scheduled),
            "air-sent": len(updates),
            "air-schedule": [device.name for device in scheduled],
        }
        if schedule is None or not updates:
            return None, MetricRecord(told)
        sent = np.array(list(updates), np.int64)
        received = aggregate(
            current.channels.direct,
            replace(schedule, active=sent),
            current.weights,
            np.stack(list(updates.values())),
            self._options.get("noise_variance") or 1.0,
            stream(self._seed, Purpose.AIR, server_round - 1),
        )
        records = [contents[current.devices[k].node_id] for k in updates]
        metrics = self.train_metrics_aggr_fn(records, self.weighted_by_key)
        told["air-computation-error"] = schedule.computation_error
        told["air-measured-error"] = received.measured_error
        metrics.update(told)
        trained = [_only(record) for record in records]
        return current.model.after(received.mean, trained, current.weights[sent].tolist()), metrics

    def _updates(
        self, current: _Round, contents: dict[int, RecordDict]
    ) -> dict[int, NDArray[np.floating]]:
        """Return the updates of the scheduled devices that have one, by device."""
        updates = {}
        for k in current.active:
            node = current.devices[k].node_id
            problem = "no model"
            if node in contents:
                try:
                    updates[k] = current.model.update(_only(contents[node]))
                    continue
                except ValueError as error:
                    problem = str(error)
            _log.warning("aggregate_train: node %s sent %s: it is left out", node, problem)
        return updates


def _only(record: RecordDict) -> ArrayRecord:
    """Return the model of a reply; Flower has checked that there is one."""
    return next(iter(record.array_records.values()))
