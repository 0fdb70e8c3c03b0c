"""Runs every policy of an experiment, one after the other or side by side."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from airsched_client._retry import Patience, RetryRule
from airsched_client.async_client import AsyncSchedulerClient
from airsched_client.client import SchedulerClient
from airsched_client.federated.checkpoint import Model, RunFiles, prepare, read_records
from airsched_client.federated.experiment import Experiment, Record, Run
from airsched_client.federated.fading import ChannelSource
from airsched_client.federated.loop import Setting
from airsched_client.federated.parallel import as_finished
from airsched_client.federated.progress import progress
from airsched_client.federated.result import Result
from airsched_client.federated.tasks import Describes, Task, build
from airsched_client.federated.traces import Trace

_OF_TASK = ("data", "samples", "epochs")
"""Options of the built-in tasks, which a task of one's own does not see."""

OnRound = Callable[[Record], None]
"""Called after every finished round."""

StopRule = Callable[[Sequence[Record]], bool]
"""Says from the finished rounds of a run whether it ends early."""


def compare(
    experiment: Experiment,
    scheduler: SchedulerClient | None,
    folder: Path | str | None = None,
    *,
    task: Task | None = None,
    channels: ChannelSource | None = None,
    resume: bool = False,
    patience: RetryRule | None = None,
    on_round: OnRound | None = None,
    stop: StopRule | None = None,
    jobs: int = 1,
) -> Result:
    """Run every policy at every tolerance and seed.

    Parameters
    ----------
    scheduler
        The client of the service; None for experiments that need none, such as ``perfect`` alone.
    folder
        Where to keep the results, with a checkpoint after every round: see :mod:`.checkpoint`.
        Without one they are in memory only.
    task
        A task to use in place of the one that the experiment names.
    channels
        Where the channels come from in place of the experiment's network: a trace or its path, an
        array (rounds × antennas × devices, or seeds × those, over a band seeds × rounds ×
        subcarriers × antennas × devices), or a function of the round and a random generator.
    resume
        Continue what the folder holds: an interrupted call, or a finished one with more rounds,
        seeds, policies or tolerances.
    patience
        How long to retry while the service is down; five minutes by default.
    on_round
        Called after every round that this call finishes; with several jobs, once its run is
        finished. Without it, a bar on the terminal says how far the comparison is.
    stop
        Ends a run early: see :func:`no_progress` and :func:`reached`.
    jobs
        Runs at the same time, through joblib: −1 for one per core. Inside
        ``joblib.parallel_config("dask")`` or ``("ray")`` they run on that cluster.

    Raises
    ------
    ServiceDownError
        The service was down for too long. All finished rounds are in the folder.
    """
    if task is None:
        task = build(
            experiment.task,
            Path(experiment.data) if experiment.data else None,
            experiment.samples,
            experiment.epochs,
        )
    elif ignored := [name for name in _OF_TASK if getattr(experiment, name) is not None]:
        raise ValueError(
            f"task= has its own {', '.join(ignored)}: leave them out of the experiment"
        )
    if isinstance(scheduler, str | AsyncSchedulerClient):
        raise TypeError(
            "the scheduler must be a client, as in `with SchedulerClient(url) as client`, or None;"
            f" it is {type(scheduler).__name__}"
        )
    if scheduler is not None:
        scheduler = scheduler.with_options(retries=patience or Patience())
    where = None if folder is None else Path(folder)
    # Before any work: wrong parts or channels are refused here.
    identity = _identity(experiment, task, channels)
    if where is not None:
        prepare(where, experiment, resume=resume, identity=identity)
    common: dict[str, Any] = {
        "experiment": experiment,
        "scheduler": scheduler,
        "task": task,
        "channels": channels,
        "folder": where,
        "stop": stop,
    }
    finished = [] if where is None else read_records(where)
    shown = progress(experiment, finished) if on_round is None else nullcontext(on_round)
    with shown as tell:
        # Workers cannot report rounds; report them when the run ends.
        common |= {"on_round": tell if jobs == 1 else _nothing}
        work = [{**common, "run": run} for run in experiment.runs()]
        found = {}
        for number, (new, done, model) in as_finished(_run, work, jobs):
            for record in done[len(done) - new :] if jobs != 1 else ():
                tell(record)
            found[number] = done, model
    records = [record for number in range(len(work)) for record in found[number][0]]
    models = {done[0].run: model for done, model in found.values() if model is not None}
    return Result(experiment, records, models, task, channels)


def no_progress(rounds: int, by: float = 0.0) -> StopRule:
    """Return a rule that ends a run after so many rounds without a better accuracy.

    Parameters
    ----------
    by
        How much better it must be to count.
    """

    def stop(records: Sequence[Record]) -> bool:
        found = [-np.inf if r.accuracy is None else r.accuracy for r in records]
        best, waited = -np.inf, 0
        for accuracy in found:
            better = accuracy > best + by
            waited, best = (0, accuracy) if better else (waited + 1, best)
        return waited >= rounds

    return stop


def reached(accuracy: float) -> StopRule:
    """Return a rule that ends a run once it has this accuracy."""
    return lambda records: bool(records) and (records[-1].accuracy or 0.0) >= accuracy


def _run(
    experiment: Experiment,
    run: Run,
    scheduler: SchedulerClient | None,
    task: Task,
    channels: ChannelSource | None,
    folder: Path | None,
    stop: StopRule | None,
    on_round: OnRound,
) -> tuple[int, list[Record], Model | None]:
    """Finish one run; return how many rounds were new, all its records, and its last model."""
    files = RunFiles(folder, run)
    before = len(files.records)

    def over() -> bool:
        done = files.records
        return len(done) >= experiment.rounds or (stop is not None and bool(done) and stop(done))

    if not over():
        setting = Setting(experiment, task, run.seed, channels)
        model = files.model or setting.initial()
        while not over():
            model, record = setting.round(run, model, files.records, scheduler)
            files.add(record, model)
            on_round(record)
    return len(files.records) - before, files.records[: experiment.rounds], files.model


def _nothing(record: Record) -> None:
    """Report nothing."""


def _identity(experiment: Experiment, task: Task, channels: ChannelSource | None) -> dict[str, Any]:
    """Return what the results depend on besides the experiment."""
    zero = Setting(experiment, task, 0, channels)
    source = experiment.channels if channels is None else channels
    shared = isinstance(source, (str, Path, Trace)) or (
        isinstance(source, np.ndarray) and source.ndim == 3
    )
    described = task.describe() if isinstance(task, Describes) else {}
    return {
        "task and its options": {"class": type(task).__name__, **described},
        "initial model": _digest(zero.initial().parameters),
        "partition of the data": _digest(*zero.parts),
        "source of the channels": _digest(zero.channels(0).direct),
        # Seed s begins where s − 1 ends: more rounds would change every seed's channels.
        "number of rounds per seed of a trace": experiment.rounds if shared else None,
    }


def _digest(*arrays: Any) -> str:
    digest = sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]
