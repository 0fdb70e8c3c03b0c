"""Any averaging strategy of Flower, its nodes scheduled and its mean received over the air.

In the idiom of Flower's wrappers for differential privacy, :class:`OverTheAir` holds a strategy and
calls its public methods::

    OverTheAir(FedAdam(...), scheduler, source)

The inner strategy proposes nodes, and the service picks among them. With θ the global model before
a round and S its schedule, the nodes in S train from θ to θ_k, and the antennas deliver

    θ̂ = θ + Σ_{k∈S} φ_k (θ_k − θ) / Σ_{k∈S} φ_k   + the noise of the air,

φ_k ∝ the node's number of samples: see :mod:`airsched_client.federated.air`. The inner strategy
then aggregates replies that all carry θ̂. Their weighted mean is θ̂, whatever the weights, so the
optimisers of FedAdam, FedAvgM and the like see the noisy mean before their step.

A scheduled node that fails or is late is missing from the sum, and from the divisor too; the noise
stays as it was. When nobody can be served or nobody sends, the model is unchanged.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord
from flwr.serverapp import Grid
from flwr.serverapp.strategy import FedAvg, Result, Strategy
from numpy.typing import NDArray

from airsched_client._retry import Patience, RetryRule
from airsched_client.client import SchedulerClient
from airsched_client.federated.air import AirOptions, aggregate
from airsched_client.federated.channels import Channels
from airsched_client.federated.partition import aggregation_weights
from airsched_client.federated.scheduling import request_schedule
from airsched_client.federated.streams import Purpose, stream
from airsched_client.flower.model import Model, OverTheAirRule, not_statistics
from airsched_client.flower.nodes import Nodes
from airsched_client.flower.sources import ChannelSource, Device
from airsched_client.models import Schedule, WidebandSchedule
from airsched_client.options import ScheduleOptions

_log = logging.getLogger("flwr")

_SET_HERE = frozenset({"weights", "device_ids"})
_DECIDED_BY_SERVICE = frozenset({"fraction_train", "min_train_nodes"})
_NEED_EVERY_MODEL = frozenset(
    {
        "Bulyan",
        "DifferentialPrivacyServerSideAdaptiveClipping",
        "DifferentialPrivacyServerSideFixedClipping",
        "FedMedian",
        "FedTrimmedAvg",
        "FedXgbBagging",
        "FedXgbCyclic",
        "Krum",
        "MultiKrum",
        "QFedAvg",
    }
)
"""Strategies that look at every node's model; the air delivers only their sum."""


@dataclass(frozen=True, eq=False)
class _Round:
    """A round between its schedule and its sum."""

    devices: Sequence[Device]
    weights: NDArray[np.float64]
    channels: Channels
    schedule: Schedule | None
    noise_variance: float
    arrays: ArrayRecord
    model: Model

    @property
    def active(self) -> list[int]:
        """The scheduled devices; none if no device can be served."""
        return [] if self.schedule is None else self.schedule.active.tolist()


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
        _require_averaging(strategy)
        self.strategy = strategy
        self._scheduler = scheduler.with_options(retries=patience or Patience(tell=_log.warning))
        self._source, self._options = source, _options(source, schedule or {})
        self._over_the_air, self._seed = over_the_air, seed
        self._air = air or AirOptions()
        self._nodes = Nodes(query_timeout)
        self._amplitudes: dict[int, float] = {}
        self._round: _Round | None = None
        self._dtypes: dict[str, Any] = {}
        self._ever_scheduled = False

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
        self._ever_scheduled, self._dtypes = False, {}
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
        schedule = request_schedule(self._scheduler, channels, options)
        if isinstance(schedule, WidebandSchedule):
            raise ValueError("the strategy sends over one subcarrier: the channels must be N×K")
        noise_variance = options.get("noise_variance") or 1.0
        model = Model(arrays, self._over_the_air)
        self._round = _Round(every, weights, channels, schedule, noise_variance, arrays, model)
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
        senders = self._senders(current, replies)
        scheduled = [current.devices[k] for k in current.active]
        told: dict[str, Any] = {
            "air-devices": len(current.devices),
            "air-active": len(scheduled),
            "air-sent": len(senders),
            "air-schedule": [device.name for device in scheduled],
        }
        if current.schedule is None or not senders:
            return current.arrays, MetricRecord(told)
        sent = np.array(list(senders), np.int64)
        received = aggregate(
            current.channels.direct,
            replace(current.schedule, active=sent),
            current.weights,
            _updates(current.model, senders.values()),
            current.noise_variance,
            stream(self._seed, Purpose.AIR, server_round - 1),
            options=self._air,
            amplitudes=self._amplitudes_of(current.devices),
        )
        trained = [_only(message) for message in senders.values()]
        digital = current.weights[sent].tolist()
        delivered = current.model.after(received.mean, trained, digital)
        for message in senders.values():
            message.content[next(iter(message.content.array_records))] = delivered
        arrays, metrics = self.strategy.aggregate_train(server_round, list(senders.values()))
        told["air-computation-error"] = current.schedule.computation_error
        told["air-measured-error"] = received.measured_error
        metrics = MetricRecord() if metrics is None else metrics
        metrics.update(told)
        return current.arrays if arrays is None else self._with_dtypes(arrays), metrics

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

    def _senders(self, current: _Round, replies: Iterable[Message]) -> dict[int, Message]:
        """Return the valid replies by device; log what is wrong with the others."""
        # By who replied: the error of a node that died carries another node's number.
        answers = {m.metadata.src_node_id: m for m in replies if not m.has_error()}
        senders = {}
        for k in current.active:
            node = current.devices[k].node_id
            problem = "no model"
            if node in answers:
                try:
                    current.model.update(_only(answers[node]))
                    senders[k] = answers[node]
                    continue
                except ValueError as error:
                    problem = str(error)
            _log.warning("aggregate_train: node %s sent %s: it is left out", node, problem)
        return senders

    def _amplitudes_of(self, devices: Sequence[Device]) -> NDArray[np.floating] | None:
        """Return every node's own deviation of power; a node keeps it for the whole run."""
        if not self._air.power_imbalance_db:
            return None
        for device in devices:
            if device.name not in self._amplitudes:
                rng = stream(self._seed, Purpose.HARDWARE, device.name)
                self._amplitudes[device.name] = float(self._air.amplitudes(1, rng)[0])
        return np.array([self._amplitudes[device.name] for device in devices])

    def _with_dtypes(self, arrays: ArrayRecord) -> ArrayRecord:
        """Return a model with the types that it began with.

        Flower's averages make floats of integers; the counters of batch normalisation would go
        over the air in the next round.
        """
        return Model.cast(arrays, self._dtypes)


class OverTheAirFedAvg(OverTheAir):
    """FedAvg over the air: ``OverTheAir(FedAvg(**fedavg), scheduler, source, ...)``.

    Parameters
    ----------
    scheduler, source, schedule, over_the_air, air, seed, query_timeout, patience
        As of :class:`OverTheAir`.
    fedavg
        Other options of :class:`flwr.serverapp.strategy.FedAvg`, such as ``min_available_nodes``.
    """

    def __init__(
        self,
        scheduler: SchedulerClient,
        source: ChannelSource,
        *,
        schedule: ScheduleOptions | None = None,
        over_the_air: OverTheAirRule = not_statistics,
        air: AirOptions | None = None,
        seed: int = 0,
        query_timeout: float = 600.0,
        patience: RetryRule | None = None,
        **fedavg: Any,
    ) -> None:
        if clash := sorted(_DECIDED_BY_SERVICE & fedavg.keys()):
            raise ValueError(f"the service decides who trains: leave out {', '.join(clash)}")
        super().__init__(
            FedAvg(**fedavg),
            scheduler,
            source,
            schedule=schedule,
            over_the_air=over_the_air,
            air=air,
            seed=seed,
            query_timeout=query_timeout,
            patience=patience,
        )


def _require_averaging(strategy: Strategy) -> None:
    """Raise ValueError if a strategy, or one that it wraps, needs every node's model."""
    inner: Any = strategy
    while inner is not None:
        for kind in type(inner).__mro__:
            if kind.__name__ in _NEED_EVERY_MODEL:
                raise ValueError(
                    f"{kind.__name__} needs every node's model, and the air delivers only their"
                    " sum: wrap a strategy that averages, such as FedAvg, FedAdam or FedProx"
                )
        inner = getattr(inner, "strategy", None)


def _options(source: ChannelSource, schedule: ScheduleOptions) -> ScheduleOptions:
    """Return the options of every request: those given, and what the channels go with."""
    if clash := sorted(_SET_HERE & schedule.keys()):
        raise ValueError(f"the strategy itself sets {', '.join(clash)} in every round")
    own = getattr(source, "options", {})
    given = {name: value for name, value in schedule.items() if value is not None}
    for name in own.keys() & given.keys():
        if not np.allclose(own[name], given[name], rtol=1e-6, atol=0):  # type: ignore[arg-type]
            raise ValueError(
                f"the channels go with {name} {own[name]}, not {given[name]}: leave it out of"
                " schedule, or take channels for it"
            )
    return {**own, **given}  # type: ignore[typeddict-item]


def _updates(model: Model, replies: Iterable[Message]) -> Iterator[NDArray[np.floating]]:
    """Yield the updates one by one, so that only one is in memory."""
    for message in replies:
        yield model.update(_only(message))


def _only(message: Message) -> ArrayRecord:
    """Return the model of a reply.

    Raises
    ------
    ValueError
        The reply does not have one model and one record of metrics.
    """
    models = list(message.content.array_records.values())
    if len(models) != 1 or len(message.content.metric_records) != 1:
        raise ValueError("a reply without one ArrayRecord and one MetricRecord")
    return models[0]
