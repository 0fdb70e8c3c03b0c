"""What a comparison returns: the records of all rounds, the final models, tables and pictures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from airsched_client.federated.checkpoint import Model
from airsched_client.federated.experiment import Experiment, Record, Run
from airsched_client.federated.fading import ChannelSource
from airsched_client.federated.loop import Setting
from airsched_client.federated.summary import Summary, summarise
from airsched_client.federated.tasks import EvaluatesDevices, HasModule, NamesAccuracy, Task

if TYPE_CHECKING:
    from airsched_client.federated.report import About


@dataclass(frozen=True, eq=False)
class DeviceSummary:
    """One device at the end of a run.

    Parameters
    ----------
    device, samples
        Its number, and how many samples it has.
    scheduled
        In how many rounds it took part.
    accuracy
        Of the final model on its own training samples; None if the task cannot say.
    """

    device: int
    samples: int
    scheduled: int
    accuracy: float | None


class Result:
    """The results of :func:`compare`.

    Parameters
    ----------
    experiment
        What was compared.
    records
        One per policy, tolerance, seed and round, in this order.
    models
        The final global models by run.
    task, channels
        What was learnt, and over which channels.
    """

    def __init__(
        self,
        experiment: Experiment,
        records: Sequence[Record],
        models: Mapping[Run, Model],
        task: Task,
        channels: ChannelSource | None = None,
    ) -> None:
        self.experiment, self.records = experiment, list(records)
        self._models, self._task, self._channels = models, task, channels

    def __repr__(self) -> str:
        return f"Result({len(self.records)} rounds of {len(self._models)} runs)"

    def summaries(self) -> list[Summary]:
        """Return the final accuracy and the like of every policy and tolerance."""
        return summarise(self.records)

    def table(self) -> None:
        """Print the summaries."""
        from rich.console import Console

        from airsched_client.federated.report import table

        Console().print(table(self.summaries(), self.about()))

    def markdown(self) -> str:
        """Return the summaries as a table in Markdown."""
        from airsched_client.federated.report import markdown

        return markdown(self.summaries(), self.about())

    def about(self) -> "About":
        """Return what tables and pictures say of the experiment beside its records."""
        from airsched_client.federated.report import About

        zero = Setting(self.experiment, self._task, self.experiment.all_seeds[0], self._channels)
        antennas, devices = zero.channels(0).direct.shape[-2:]
        setting = f"K = {devices}, N = {antennas}, σ² = {self.experiment.noise_variance:g}"
        if isinstance(self._task, NamesAccuracy):
            return About(setting, self._task.accuracy_name)
        return About(setting)

    def plot(
        self,
        file: Path | str,
        *,
        x: Literal["round", "channel_uses", "energy"] = "round",
        gamma_db: float | None = None,
    ) -> Path:
        """Draw accuracy and active devices.

        Parameters
        ----------
        file
            The picture to write; its suffix says the format.
        x
            What accuracy is drawn over.
        gamma_db
            Of several tolerances, the one to draw; the first if None.
        """
        from airsched_client.federated.report import draw_rounds

        tolerances = [r.gamma_db for r in self.records if r.gamma_db is not None]
        if gamma_db is None and tolerances:
            gamma_db = tolerances[0]
        return draw_rounds(self.records, gamma_db, Path(file), x, self.about())

    def model(self, policy: str, seed: int = 0, gamma_db: float | None = None) -> Any:
        """Return the final global model of a run.

        It is what the task makes of it, such as a ``torch.nn.Module``, or else the vector of its
        parameters.

        Raises
        ------
        KeyError
            There is no such run.
        """
        model = self._models[self._run(policy, seed, gamma_db)]
        if isinstance(self._task, HasModule):
            return self._task.module(model.parameters, model.statistics)
        return model.parameters

    def devices(
        self, policy: str, seed: int = 0, gamma_db: float | None = None
    ) -> list[DeviceSummary]:
        """Return for every device how often it was scheduled, and the accuracy on its own data."""
        run = self._run(policy, seed, gamma_db)
        parts = Setting(self.experiment, self._task, run.seed, self._channels).parts
        active = [device for r in self.records if r.run == run for device in r.active]
        scheduled = np.bincount(np.array(active, np.int64), minlength=len(parts))
        return [
            DeviceSummary(device, part.size, int(scheduled[device]), self._own(run, part))
            for device, part in enumerate(parts)
        ]

    def _own(self, run: Run, samples: NDArray[np.int64]) -> float | None:
        if not isinstance(self._task, EvaluatesDevices):
            return None
        model = self._models[run]
        return self._task.evaluate_on(model.parameters, samples, model.statistics).accuracy

    def _run(self, policy: str, seed: int, gamma_db: float | None) -> Run:
        found = [
            run
            for run in self._models
            if (run.policy, run.seed) == (policy, seed) and gamma_db in (None, run.gamma_db)
        ]
        if len(found) == 1:
            return found[0]
        if found:
            several = ", ".join(f"{run.gamma_db:g}" for run in found)
            raise KeyError(f"{policy} ran at several tolerances: pass gamma_db, one of {several}")
        runs = ", ".join(sorted({f"{run.policy} (seed {run.seed})" for run in self._models}))
        raise KeyError(f"there is no run of {policy} with seed {seed}: there are {runs}")
