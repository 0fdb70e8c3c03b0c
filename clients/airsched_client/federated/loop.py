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

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from airsched_client._retry import Patience
from airsched_client.client import SchedulerClient
from airsched_client.federated.air import aggregate
from airsched_client.federated.channels import Channels
from airsched_client.federated.checkpoint import Results
from airsched_client.federated.experiment import AUTO, PERFECT, Experiment, Record, Run
from airsched_client.federated.fading import Fading, NetworkFading, TraceFading
from airsched_client.federated.partition import aggregation_weights, partition
from airsched_client.federated.priorities import priorities
from airsched_client.federated.scheduling import request_schedule
from airsched_client.federated.streams import Purpose, stream
from airsched_client.federated.tasks import Task, build
from airsched_client.models import IrsSchedule, Schedule
from airsched_client.options import ScheduleOptions

Real = NDArray[np.float64]


def compare(
    experiment: Experiment,
    scheduler: SchedulerClient,
    folder: Path,
    *,
    resume: bool = False,
    patience: Patience | None = None,
    task: Task | None = None,
    on_round: Callable[[Record], None] = lambda record: None,
) -> list[Record]:
    """Run every policy at every tolerance and seed, and return the records of all rounds.

    Parameters
    ----------
    folder
        Where to write the results and a checkpoint after every round: see :mod:`.checkpoint`.
    resume
        Resume an interrupted call with the same experiment.
    patience
        How long to retry while the service is down.
    task
        A task to use in place of the one that the experiment names.
    on_round
        Called after every round that this call finishes.

    Raises
    ------
    ServiceDownError
        The service was down for too long. All finished rounds are in the folder.
    """
    task = task or build(
        experiment.task,
        Path(experiment.data) if experiment.data else None,
        experiment.samples,
        experiment.epochs,
    )
    results = Results(folder, experiment, resume=resume)
    scheduler = scheduler.with_options(retries=patience or Patience())
    for run in experiment.runs():
        done = results.of(run)
        if len(done) == experiment.rounds:
            continue
        setting = Setting(experiment, task, run.seed)
        model = results.model() if done else task.initial(stream(run.seed, Purpose.MODEL))
        while len(done) < experiment.rounds:
            model, record = setting.round(run, model, done, scheduler)
            results.add(record, model)
            done.append(record)
            on_round(record)
    return results.records


class Setting:
    """The network and the data of one seed, the same for every policy.

    Parameters
    ----------
    experiment, task
        What to compare, and what to learn.
    seed
        Seed of everything random.
    """

    def __init__(self, experiment: Experiment, task: Task, seed: int) -> None:
        self._experiment, self._task, self._seed = experiment, task, seed
        self._fading = _fading(experiment, seed)
        self._parts = partition(
            task.labels,
            experiment.network.devices,
            experiment.partition,
            stream(seed, Purpose.PARTITION),
        )
        self.weights: Real = aggregation_weights([part.size for part in self._parts])

    # Noise can make a model diverge until it overflows; that is a result, not an error.
    @np.errstate(over="ignore", invalid="ignore")
    def round(
        self,
        run: Run,
        model: Real,
        before: Sequence[Record],
        scheduler: SchedulerClient,
    ) -> tuple[Real, Record]:
        """Return the next global model, and the record of the round."""
        number = len(before)
        losses = [np.inf if record.loss is None else record.loss for record in before]
        expected = measured = None
        if run.policy == PERFECT:
            active = np.arange(self.weights.size)
            updates = self._train(model, active, losses, number)
            model = model + self.weights @ updates / self.weights.sum()
        else:
            channels = self._fading.channels(number // self._experiment.coherence)
            schedule = self._schedule(run, channels, before, scheduler)
            through = channels.direct
            if isinstance(schedule, IrsSchedule):
                through = channels.tuned(schedule.phases)
            active = np.zeros(0, np.int64)
            if schedule is not None and schedule.active.size:
                active, expected = schedule.active, schedule.computation_error
                updates = self._train(model, active, losses, number)
                received = aggregate(
                    through,
                    schedule,
                    self.weights,
                    updates,
                    self._experiment.noise_variance,
                    stream(self._seed, Purpose.AIR, number),
                )
                model, measured = model + received.mean, received.measured_error
        found = self._evaluate(model, active, before)
        return model, Record(
            run.policy,
            run.gamma_db,
            run.seed,
            number,
            tuple(active.tolist()),
            expected,
            _finite(measured),
            *found,
        )

    def _schedule(
        self, run: Run, channels: Channels, before: Sequence[Record], scheduler: SchedulerClient
    ) -> Schedule | None:
        """Ask the service; None if a frontier has no point."""
        experiment = self._experiment
        algorithm = self._algorithm(run.policy, before)
        rule = algorithm.pop("priorities", None)
        automatic = run.policy_name == AUTO
        options = ScheduleOptions(
            weights=self.weights,
            priorities=None if rule is None else priorities(rule, self.weights, before),
            algorithm=None if automatic else algorithm,
            gamma_db=run.gamma_db,
            power=experiment.power,
            noise_variance=experiment.noise_variance,
            csi_error=experiment.network.csi_error,
            coordination=experiment.coordination,
            polish=experiment.polish,
            seed=run.seed * experiment.rounds + len(before),
        )
        participation = algorithm.get("participation") if automatic else None
        return request_schedule(scheduler, channels, options, participation)

    def _algorithm(self, policy: str, before: Sequence[Record]) -> dict[str, Any]:
        """Return the algorithm with what the stateless service needs from earlier rounds."""
        algorithm = Experiment.algorithm(policy)
        if algorithm["name"] == "round_robin":
            start = sum(max(len(record.active), 1) for record in before)
            return {"start": start % self.weights.size, **algorithm}
        if algorithm["name"] == "proportional_fair":
            return {"average_gains": self._fading.average_gains().tolist(), **algorithm}
        return algorithm

    def _train(
        self, model: Real, active: NDArray[np.int64], losses: Sequence[float], number: int
    ) -> Real:
        """Return the updates of the active devices, (|S|, D)."""
        updates = np.empty((active.size, model.size))
        for row, device in enumerate(active.tolist()):
            rng = stream(self._seed, Purpose.TRAINING, number, device)
            updates[row] = self._task.train(model, self._parts[device], losses, rng) - model
        return updates

    def _evaluate(
        self, model: Real, active: NDArray[np.int64], before: Sequence[Record]
    ) -> tuple[float, float | None, float | None]:
        """Return accuracy, loss and training loss; the active devices measure the statistics."""
        if not active.size and before:
            # The model is as it was, and nobody has measured anything new.
            return before[-1].accuracy, before[-1].loss, before[-1].train_loss
        statistics = None
        if active.size:
            measured = [
                self._task.statistics(
                    model,
                    self._parts[device],
                    stream(self._seed, Purpose.STATISTICS, len(before), device),
                )
                for device in active.tolist()
            ]
            statistics = np.average(measured, axis=0, weights=self.weights[active])
        found = self._task.evaluate(model, statistics)
        return found.accuracy, _finite(found.loss), _finite(found.train_loss)


def _fading(experiment: Experiment, seed: int) -> Fading:
    """Return the channels of a seed; each seed plays another part of a trace."""
    if experiment.channels is None:
        return NetworkFading(experiment.network, seed)
    start = seed * -(-experiment.rounds // experiment.coherence)
    fading = TraceFading(experiment.channels, start, experiment.power, experiment.noise_variance)
    if fading.devices != experiment.network.devices:
        raise ValueError(
            f"{experiment.channels} has {fading.devices} devices,"
            f" the experiment {experiment.network.devices}"
        )
    return fading


def _finite(value: float | None) -> float | None:
    """Return ``value``, or None if JSON cannot represent it."""
    return value if value is not None and np.isfinite(value) else None
