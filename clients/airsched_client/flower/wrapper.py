"""Any averaging strategy of Flower, its nodes scheduled and its mean received over the air.

In the idiom of Flower's wrappers for differential privacy, :class:`OverTheAir` holds a strategy and
calls its public methods::

    OverTheAir(FedAdam(...), scheduler, source)

The inner strategy proposes nodes, and the service picks among them. With θ the global model before
a round and S its schedule, the nodes in S train from θ to θ_k, and the antennas deliver

    θ̂ = θ + Σ_{k∈S} φ_k (θ_k − θ) / Σ_{k∈S} φ_k   + the noise of the air,

φ_k ∝ the node's number of samples: see :mod:`airsched_client.federated.air`. If the channels have F
subcarriers, all have the same S, and entry d goes over subcarrier d mod F. The inner strategy
then aggregates replies that all carry θ̂. Their weighted mean is θ̂, whatever the weights, so the
optimisers of FedAdam, FedAvgM and the like see the noisy mean before their step.

A scheduled node that fails or is late is missing from the sum, and from the divisor too; the noise
stays as it was. When nobody can be served or nobody sends, the model is unchanged.
"""

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Result, Strategy

from airsched_client._retry import Patience, RetryRule
from airsched_client.client import SchedulerClient
from airsched_client.federated.air import AirOptions
from airsched_client.federated.partition import aggregation_weights
from airsched_client.federated.scheduling import Receiver, receiver_of, request_schedule
from airsched_client.flower.averaging import require_averaging
from airsched_client.flower.model import Model, OverTheAirRule, not_statistics
from airsched_client.flower.nodes import Nodes
from airsched_client.flower.reception import Reception
from airsched_client.flower.request import request_options
from airsched_client.flower.round import Round
from airsched_client.flower.sources import ChannelSource, Device
from airsched_client.options import ScheduleOptions

_log = logging.getLogger("flwr")


class OverTheAir(Strategy):
    """A strategy whose nodes are scheduled by the service, and whose mean comes over the air.

    Parameters
    ----------
    strategy
        The strategy to wrap: FedAvg, FedProx, FedAvgM, FedAdam, FedYogi, FedAdagrad, or one of
        your own that averages. Those that need every node's model are refused.
    scheduler
        The client of the service.
    source
        Where the channels come from.
    schedule
        Options of every request: a tolerance, ``algorithm``, ``noise_variance`` and so on. Without
        a tolerance every round has the point of its frontier that the service recommends. ``seed``
        is that of the first round's request; every later round adds one.
    over_the_air
        Says of an array's name and value whether it goes over the air; the others go digitally.
        By default all floating-point arrays do but the running statistics of normalisation layers.
    air
        Imperfections of the air: see :class:`airsched_client.federated.AirOptions`.
    seed
        Seed of the noise.
    query_timeout
        Seconds to wait for the nodes to describe themselves. A node that does not is left out for
        the rest of the run.
    patience
        How long to retry while the service is down; every wait is logged.

    Every round adds to the metrics

    - ``air-devices``, ``air-active`` and ``air-sent``: how many nodes there were, were scheduled,
      and sent a model;
    - ``air-schedule``: the scheduled ones, by index or else by node id;
    - ``air-computation-error`` and ``air-measured-error``: what the service reported, and what the
      simulated air produced.
    """

    def __init__(
        self,
        strategy: Strategy,
        scheduler: SchedulerClient,
        source: ChannelSource,
        *,
        schedule: ScheduleOptions | None = None,
        over_the_air: OverTheAirRule = not_statistics,
        air: AirOptions | None = None,
        seed: int = 0,
        query_timeout: float = 600.0,
        patience: RetryRule | None = None,
    ) -> None:
        super().__init__()
        require_averaging(strategy)
        self.strategy = strategy
        self._scheduler = scheduler.with_options(retries=patience or Patience(tell=_log.warning))
        self._source, self._options = source, request_options(source, schedule or {})
        self._over_the_air = over_the_air
        self._reception = Reception(air or AirOptions(), seed)
        self._nodes = Nodes(query_timeout)
        self._round: Round | None = None
        self._dtypes: dict[str, Any] = {}
        self._ever_scheduled = False
        self._last_receiver: Receiver | None = None

    def summary(self) -> None:
        """Log what every request asks for, and the inner strategy's summary."""
        _log.info("\t├──> Scheduled by the service: %s", self._options)
        self.strategy.summary()

    def schedule_options(self, server_round: int, devices: Sequence[Device]) -> ScheduleOptions:
        """Return the options of a round's request; override it for some that change.

        The air has the noise variance of these options.
        """
        first = self._options.get("seed") or 0
        return {**self._options, "seed": first + server_round - 1}

    def start(self, *arguments: Any, **options: Any) -> Result:
        """Run all rounds, as :meth:`flwr.serverapp.strategy.Strategy.start`.

        Raises
        ------
        RuntimeError
            No node could be scheduled in any round: nothing was learnt.
        """
        self._ever_scheduled, self._dtypes, self._last_receiver = False, {}, None
        result = super().start(*arguments, **options)
        if not self._ever_scheduled:
            raise RuntimeError(
                "no node could be served in any round, so nothing was learnt: raise gamma_db or"
                " max_error, leave the tolerance out, or check the units of the channels, power"
                " and noise_variance"
            )
        return result

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Ask the service for a schedule, and return the messages of the scheduled nodes."""
        self._round = None
        self._dtypes = self._dtypes or {name: each.numpy().dtype for name, each in arrays.items()}
        proposed = {
            message.metadata.dst_node_id: message
            for message in self.strategy.configure_train(server_round, arrays, config, grid)
        }
        if not proposed:
            return []
        every = self._nodes.devices(grid, sorted(proposed), anew=self._source.reported)
        if not every:
            raise RuntimeError(
                "no node has described itself: call report_device(app, …) in the ClientApp, and"
                " look for the nodes' errors above"
            )
        weights = aggregation_weights([device.samples for device in every])
        channels = self._source.channels(server_round, every)
        options: ScheduleOptions = {
            **self.schedule_options(server_round, every),
            "weights": weights,
            "device_ids": [str(device.node_id) for device in every],
        }
        schedule = request_schedule(
            self._scheduler, channels, options, last_receiver=self._last_receiver
        )
        receiver = None if schedule is None else receiver_of(schedule)
        self._last_receiver = self._last_receiver if receiver is None else receiver
        noise_variance = options.get("noise_variance") or 1.0
        model = Model(arrays, self._over_the_air)
        self._round = Round(every, weights, channels, schedule, noise_variance, arrays, model)
        active = self._round.active
        self._ever_scheduled = self._ever_scheduled or bool(active)
        error = None if schedule is None else schedule.computation_error
        _log.info(
            "configure_train: %s of %s nodes scheduled, computation error %s",
            len(active),
            len(every),
            "none" if error is None else f"{error:.3g}",
        )
        if not active:
            _log.warning("nobody can be served in round %s: the model stays", server_round)
        return [proposed[every[k].node_id] for k in active]

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Return the inner strategy's model after the sum that the air delivers, and the metrics.

        When nothing arrives, it is the model before the round: Flower would otherwise end without
        one.
        """
        current, self._round = self._round, None
        if current is None:
            return None, None
        senders = current.senders(replies)
        scheduled = [current.devices[k] for k in current.active]
        told: dict[str, Any] = {
            "air-devices": len(current.devices),
            "air-active": len(scheduled),
            "air-sent": len(senders),
            "air-schedule": [device.name for device in scheduled],
        }
        if current.schedule is None or not senders:
            return current.arrays, MetricRecord(told)
        delivered, measured_error = self._reception.receive(
            server_round, current, current.schedule, senders
        )
        for message in senders.values():
            message.content[next(iter(message.content.array_records))] = delivered
        arrays, metrics = self.strategy.aggregate_train(server_round, list(senders.values()))
        told["air-computation-error"] = current.schedule.computation_error
        told["air-measured-error"] = measured_error
        metrics = MetricRecord() if metrics is None else metrics
        metrics.update(told)
        # Flower's averages make floats of integers; the counters of batch normalisation would go
        # over the air in the next round.
        return current.arrays if arrays is None else Model.cast(arrays, self._dtypes), metrics

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Do as the inner strategy does."""
        messages: Iterable[Message] = self.strategy.configure_evaluate(
            server_round, arrays, config, grid
        )
        return messages

    def aggregate_evaluate(
        self, server_round: int, replies: Iterable[Message]
    ) -> MetricRecord | None:
        """Do as the inner strategy does."""
        return self.strategy.aggregate_evaluate(server_round, replies)
