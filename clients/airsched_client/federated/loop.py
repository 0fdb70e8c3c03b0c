"""The loop: channels → schedule → local training → air → global model, round after round.

With θ the global model before a round and S its schedule, the devices in S train from θ to θ_k and
send θ_k − θ, and the new global model is

    θ ← θ + Σ_{k∈S} φ_k (θ_k − θ) / Σ_{k∈S} φ_k   + the noise of the air.

When nobody can be served, the model is unchanged. A reflecting surface is tuned by the service, and
the updates go through the tuned channel H(μ).

**Only trained parameters go over the air.** Statistics that evaluating a model takes, such as those
of batch normalisation, belong to one set of weights. The devices in S measure them at the new θ and
send them digitally, without noise; the server uses their weighted mean. Over the air they would
also set the scale s of the round, and drown the updates in noise: they are far larger.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from airsched_client.client import SchedulerClient
from airsched_client.federated.air import Aggregate, aggregate, aggregate_band, digital
from airsched_client.federated.channels import Channels
from airsched_client.federated.checkpoint import Model
from airsched_client.federated.experiment import (
    AUTO,
    DIGITAL,
    PERFECT,
    Experiment,
    Record,
    Run,
    Scheduled,
)
from airsched_client.federated.fading import ChannelSource, fading_of
from airsched_client.federated.partition import aggregation_weights, parts_of
from airsched_client.federated.priorities import priorities
from airsched_client.federated.scheduling import Receiver, request_schedule
from airsched_client.federated.streams import Purpose, request_seed, stream
from airsched_client.federated.tasks import HasLabels, HasParts, HasStatistics, LocalRound, Task
from airsched_client.models import IrsSchedule, Schedule, WidebandSchedule
from airsched_client.options import ScheduleOptions

Real = NDArray[np.floating]
Indices = NDArray[np.int64]


class Setting:
    """The network and the data of one seed, the same for every policy.

    Parameters
    ----------
    experiment, task
        What to compare, and what to learn.
    seed
        Seed of everything random.
    channels
        Where the channels come from, in place of the experiment's.
    """

    def __init__(
        self,
        experiment: Experiment,
        task: Task,
        seed: int,
        channels: ChannelSource | None = None,
    ) -> None:
        self._experiment, self._task, self._seed = experiment, task, seed
        self._fading = fading_of(
            experiment.channels if channels is None else channels,
            experiment.network,
            seed,
            rounds=-(-experiment.rounds // experiment.coherence),
            last_seed=max(experiment.all_seeds),
            power=experiment.power,
            noise_variance=experiment.noise_variance,
        )
        given = task.parts if isinstance(task, HasParts) else None
        labels = task.labels if given is None and isinstance(task, HasLabels) else None
        if given is None and labels is None:
            raise ValueError("the task has no labels to divide the data by: give it its own parts")
        self.parts: list[Indices] = parts_of(
            given,
            labels,
            self._fading.devices,
            experiment.partition,
            stream(seed, Purpose.PARTITION),
        )
        self.weights: NDArray[np.float64] = aggregation_weights([part.size for part in self.parts])
        self._amplitudes = None
        if experiment.air.power_imbalance_db:
            hardware = stream(seed, Purpose.HARDWARE)
            self._amplitudes = experiment.air.amplitudes(self.weights.size, hardware)

    def initial(self) -> Model:
        """Return the initial model."""
        return Model(self._task.initial(stream(self._seed, Purpose.MODEL)))

    def channels(self, number: int) -> Channels:
        """Return the channels of a round."""
        return self._fading.channels(number // self._experiment.coherence)

    # Noise can make a model diverge until it overflows; that is a result, not an error.
    @np.errstate(over="ignore", invalid="ignore")
    def round(
        self, run: Run, model: Model, before: Sequence[Record], scheduler: SchedulerClient | None
    ) -> tuple[Model, Record]:
        """Return the next global model, and the record of the round."""
        sent = self._send(run, model, before, scheduler)
        parameters, statistics, receiver = model
        if sent.received is not None:
            # In the model's own precision; the sum was formed in double.
            parameters = (parameters + sent.received.mean).astype(parameters.dtype)
            statistics = self._statistics(parameters, sent.active, len(before))
            receiver = sent.receiver
        elif before:
            # The model is as it was, and nobody has measured anything new.
            last = before[-1]
            found = (last.accuracy, last.loss, last.train_loss)
            return model, self._record(run, len(before), sent, found)
        model = Model(parameters, statistics, receiver)
        return model, self._record(run, len(before), sent, self._evaluate(model))

    def _send(
        self,
        run: Run,
        model: Model,
        before: Sequence[Record],
        scheduler: SchedulerClient | None,
    ) -> "_Sent":
        """Let the active devices train and send, and return what the server receives."""
        experiment, number, parameters = self._experiment, len(before), model.parameters
        everyone = np.arange(self.weights.size)
        if run.policy == PERFECT:
            updates = self._updates(parameters, everyone, before)
            return _Sent(everyone, None, _mean(updates, self.weights))
        channels = self.channels(number)
        if run.policy == DIGITAL:
            if channels.direct.ndim == 3:
                raise ValueError(f"{DIGITAL} takes no band: take another policy")
            heard = np.flatnonzero(np.abs(channels.direct).sum(axis=0) > 0)
            received = digital(
                channels.direct[:, heard],
                np.broadcast_to(power_limits(experiment, channels), self.weights.size)[heard],
                experiment.noise_variance,
                self.weights[heard],
                self._updates(parameters, heard, before),
                experiment.air.digital_bits,
                channels.interference,
            )
            return _Sent(heard, None, received)
        schedule = self._schedule(run, channels, before, scheduler, model.receiver)
        if isinstance(schedule, WidebandSchedule):
            sent = self._send_over_band(channels, schedule.subcarriers(), parameters, before)
            return sent._replace(receiver=schedule.receivers)
        if schedule is not None and not isinstance(schedule, Schedule):
            return self._send_over_band(channels, schedule, parameters, before)
        if schedule is None or not schedule.active.size:
            return _Sent(np.zeros(0, np.int64), None, None)
        through = channels.direct
        if isinstance(schedule, IrsSchedule):
            through = channels.tuned(schedule.phases)
        received = aggregate(
            through,
            schedule,
            self.weights,
            self._updates(parameters, schedule.active, before),
            experiment.noise_variance,
            stream(self._seed, Purpose.AIR, number),
            options=experiment.air,
            amplitudes=self._amplitudes,
            interference=channels.interference,
        )
        return _Sent(schedule.active, schedule.computation_error, received, schedule.receiver)

    def _send_over_band(
        self,
        channels: Channels,
        schedules: Sequence[Schedule],
        parameters: Real,
        before: Sequence[Record],
    ) -> "_Sent":
        """Send as the schedules of all subcarriers say; a device takes part if any has it."""
        active = np.unique(np.concatenate([[], *(one.active for one in schedules)])).astype(int)
        if not active.size:
            return _Sent(active, None, None)
        updates = self._updates(parameters, active, before)
        received = aggregate_band(
            channels.direct,
            schedules,
            self.weights,
            dict(zip(active.tolist(), updates, strict=True)),
            self._experiment.noise_variance,
            stream(self._seed, Purpose.AIR, len(before)),
            options=self._experiment.air,
            amplitudes=self._amplitudes,
        )
        errors = [one.computation_error for one in schedules if one.computation_error is not None]
        return _Sent(active, float(np.mean(errors)), received)

    def _schedule(
        self,
        run: Run,
        channels: Channels,
        before: Sequence[Record],
        scheduler: SchedulerClient | None,
        last_receiver: Receiver | None,
    ) -> Scheduled | None:
        """Ask the service, or a policy of the user's; None if nobody can be served."""
        experiment = self._experiment
        common = ScheduleOptions(
            weights=self.weights,
            power=power_limits(experiment, channels),
            **noise_of(experiment, channels),
            csi_error=experiment.network.csi_error,
            coordination=experiment.coordination,
            seed=request_seed(run.seed, len(before)),
        )
        if run.policy in experiment.functions:
            return experiment.functions[run.policy](channels, common)
        if scheduler is None:
            raise ValueError(f"{run.policy} needs the service: pass a SchedulerClient")
        algorithm = self._algorithm(run.policy, before)
        rule = algorithm.pop("priorities", None)
        automatic = run.policy_name == AUTO
        options: ScheduleOptions = {
            **common,
            "priorities": None if rule is None else priorities(rule, self.weights, before),
            "algorithm": None if automatic else algorithm,
            "gamma_db": run.gamma_db,
            "polish": experiment.polish,
        }
        participation = algorithm.get("participation") if automatic else None
        return request_schedule(scheduler, channels, options, participation, last_receiver)

    def _algorithm(self, policy: str, before: Sequence[Record]) -> dict[str, Any]:
        """Return the algorithm with what the stateless service needs from earlier rounds."""
        algorithm = Experiment.algorithm(policy)
        if algorithm["name"] == "round_robin":
            start = sum(max(len(record.active), 1) for record in before)
            return {"start": start % self.weights.size, **algorithm}
        if algorithm["name"] == "proportional_fair":
            return {"average_gains": self._fading.average_gains().tolist(), **algorithm}
        return algorithm

    def _updates(
        self, parameters: Real, active: Indices, before: Sequence[Record]
    ) -> Iterator[Real]:
        """Train the active devices one after the other, and yield their updates."""
        losses = [np.inf if record.loss is None else record.loss for record in before]
        for device in active.tolist():
            local = self._local(device, len(before), losses, Purpose.TRAINING)
            yield self._task.train(parameters, local) - parameters

    def _local(
        self, device: int, number: int, losses: Sequence[float], purpose: Purpose
    ) -> LocalRound:
        rng = stream(self._seed, purpose, number, device)
        return LocalRound(device, number, self.parts[device], losses, rng)

    def _statistics(self, parameters: Real, active: Indices, number: int) -> Real | None:
        """Return the weighted mean of what the active devices measure at the new model."""
        if not isinstance(self._task, HasStatistics):
            return None
        total: Real | None = None
        for device in active.tolist():
            local = self._local(device, number, (), Purpose.STATISTICS)
            measured = self.weights[device] * self._task.statistics(parameters, local)
            total = measured if total is None else total + measured
        return None if total is None else total / self.weights[active].sum()

    def _evaluate(self, model: Model) -> tuple[float | None, float | None, float | None]:
        """Return accuracy, loss and training loss."""
        evaluate: Any = self._task.evaluate
        if isinstance(self._task, HasStatistics):
            found = evaluate(model.parameters, model.statistics)
        else:
            found = evaluate(model.parameters)
        return _finite(found.accuracy), _finite(found.loss), _finite(found.train_loss)

    @staticmethod
    def _record(
        run: Run, number: int, sent: "_Sent", found: tuple[float | None, float | None, float | None]
    ) -> Record:
        received = sent.received
        accounted = run.policy != PERFECT
        return Record(
            run.policy,
            run.gamma_db,
            run.seed,
            number,
            tuple(sent.active.tolist()),
            sent.expected_error,
            None if received is None or not accounted else _finite(received.measured_error),
            *found,
            (0 if received is None else received.channel_uses) if accounted else None,
            (0.0 if received is None else _finite(received.energy)) if accounted else None,
        )


def power_limits(experiment: Experiment, channels: Channels) -> float | NDArray[np.float64]:
    """Return P, or P_k of every device if they differ."""
    shares = channels.power_shares
    return experiment.power if shares is None else experiment.power * shares


def noise_of(experiment: Experiment, channels: Channels) -> ScheduleOptions:
    """Return what a request says of the noise: its variance, or with interference R."""
    if channels.interference is None:
        return {"noise_variance": experiment.noise_variance}
    covariance = np.eye(len(channels.interference)) + channels.interference
    return {"noise_covariance": experiment.noise_variance * covariance}


class _Sent(NamedTuple):
    """Who took part in a round, the error promised, what was received, and the receiver."""

    active: Indices
    expected_error: float | None
    received: Aggregate | None
    receiver: Receiver | None = None


def _mean(updates: Iterable[Real], weights: Real) -> Aggregate:
    """Return the weighted mean, as if it had not been sent over the air."""
    total: Real | None = None
    for weight, update in zip(weights, updates, strict=True):
        total = np.zeros(update.size) if total is None else total
        total += weight * update
    assert total is not None
    return Aggregate(total / weights.sum(), 0.0, 1.0, 0, 0.0)


def _finite(value: float | None) -> float | None:
    """Return ``value``, or None if JSON cannot represent it."""
    return value if value is not None and np.isfinite(value) else None
