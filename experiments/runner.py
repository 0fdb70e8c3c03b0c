"""Runs sweeps: many calls of one function, in parallel, with each result kept on disk.

As in the learning loop, joblib distributes the calls over this machine's cores (``loky``) or a Dask
or Ray cluster, or runs them one after the other (``sequential``). A call depends on its arguments
alone, its seed among them, so the numbers are the same wherever it runs.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, get_args

import joblib
import psutil
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from airsched_client.federated.checkpoint import replace_file
from airsched_client.federated.parallel import as_finished
from experiments.digest import key
from experiments.figure import Backend

BACKENDS: tuple[Backend, ...] = get_args(Backend)


class Runner:
    """Sweeps with one backend and one cache.

    Parameters
    ----------
    cache
        Folder of the results so far; each is a file named by its call.
    jobs
        Calls at once, −1 for one per core; a cluster decides for itself.
    data
        Folder that holds ``cifar-10-batches-py``, for the figures that learn.
    seeds
        At most so many seeds of the figures that learn; None for all.
    fresh
        Ignore what the cache holds.
    """

    def __init__(
        self,
        cache: Path,
        *,
        jobs: int = -1,
        data: Path | None = None,
        seeds: int | None = None,
        fresh: bool = False,
        console: Console | None = None,
    ) -> None:
        self.cache, self.data, self.seeds = cache, data, seeds
        self._jobs, self._fresh, self._console = jobs, fresh, console or Console(stderr=True)

    def sweep(
        self,
        title: str,
        function: Callable[..., Any],
        calls: Sequence[dict[str, Any]],
        *,
        in_parallel: bool = True,
        **elsewhere: Any,
    ) -> list[Any]:
        """Return ``function(**call)`` of every call, in order.

        Parameters
        ----------
        function
            A function of a module, with arguments and results that JSON can represent.
        in_parallel
            False for timing: nothing else may run at the same time.
        elsewhere
            Further arguments that do not change the result, such as folders.
        """
        files = [self.cache / f"{key(function, call)}.json" for call in calls]
        missing = [at for at, file in enumerate(files) if self._fresh or not file.exists()]
        self.cache.mkdir(parents=True, exist_ok=True)
        with self._progress() as progress:
            done = len(calls) - len(missing)
            bar = progress.add_task(title, total=len(calls), completed=done)
            work = [{**calls[at], **elsewhere} for at in missing]
            for number, result in as_finished(function, work, self._jobs if in_parallel else 1):
                at = missing[number]
                kept = json.dumps({"call": calls[at], "result": result})
                replace_file(files[at], kept.encode())
                progress.advance(bar)
        return [json.loads(file.read_text())["result"] for file in files]

    def _progress(self) -> Progress:
        return Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=self._console,
        )


@contextmanager
def backend(name: Backend, address: str | None = None) -> Iterator[None]:
    """Let joblib run on a backend, and on the cluster at ``address`` if given.

    Without an address, ``dask`` and ``ray`` start a cluster on this machine and stop it again.
    """
    if name == "dask":
        with _extra(name):
            from distributed import Client
        with Client(address) as client, joblib.parallel_config("dask", client=client):
            yield
    elif name == "ray":
        with _extra(name):
            import ray
            from ray.util.joblib import register_ray
        ray.init(address, include_dashboard=False, log_to_driver=False)
        try:
            register_ray()
            with joblib.parallel_config("ray"):
                yield
        finally:
            ray.shutdown()
    elif address is not None:
        raise ValueError(f"{name} runs on this machine: --address is for dask and ray")
    else:
        with joblib.parallel_config(name):
            yield


@contextmanager
def _extra(name: str) -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise ImportError(f"{name} is not installed: pip install --group cluster") from error


def freeze_workers() -> None:
    """Stop this machine's worker processes where they are, before they are killed.

    Otherwise one may start another process meanwhile, which would not be found and killed.
    """
    for child in _below():
        with suppress(psutil.NoSuchProcess):
            if "loky" in " ".join(child.cmdline()):
                child.suspend()


def kill_children() -> None:
    """Kill what is left below this process, such as a service that was just being started."""
    for child in _below():
        with suppress(psutil.NoSuchProcess):
            child.kill()


def _below() -> list[psutil.Process]:
    """Return the processes below this one, except those that clean up after it."""
    found = []
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if "resource_tracker" not in " ".join(child.cmdline()):
                found.append(child)
    return found
