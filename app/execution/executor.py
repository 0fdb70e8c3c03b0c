"""Where a solve runs, with a deadline: here and now, in a thread, or in a process of its own.

- Short solves run on the event loop, without a hop to a thread and back: those that cannot hold it
  for longer than :data:`LOOP_SECONDS`, by the estimate of their scheduler.
- Longer ones that look at their stop flag run in threads: compiled, without the interpreter lock.
- Slow ones run in processes, which are killed when nobody waits any more: at the deadline, and when
  the client has gone. However slow they are, they hold no thread that others need, and no lock.

Threads and processes each have a short queue that clients share fairly
(:mod:`app.execution.lane`). What it does not hold is refused at once: whoever were let in would
only wait.
"""

import asyncio
import os
import sys
import threading
import time
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from app import metrics
from app.execution.lane import GRACE_SECONDS, Gone, Lane, Work
from app.execution.processes import NICENESS, Job, Workers
from app.scheduling import (
    AnyProblem,
    DeadlineExceededError,
    Frontier,
    Schedule,
    SolveSpec,
    find_frontier,
    solve_specified,
    with_bound,
)
from app.scheduling.stopping import flag_after
from app.scheduling.types import MaskArray

LOOP_SECONDS = 2e-3
"""Default of ``loop_seconds``. The estimate is of the slowest; a usual solve takes a fifth."""

SEARCH_SHARE = 0.8
"""Share of its time after which a frontier's search ends; the rest is for checking its points."""

Schedules = list[Schedule]


class Executor:
    """Runs solves and keeps their deadlines.

    Parameters
    ----------
    workers
        Number of solves that run at once in threads, and in processes.
    queue_length
        Number of further ones that may wait for each.
    loop_seconds
        How long a solve may hold the event loop.
    """

    def __init__(
        self, workers: int, queue_length: int, *, loop_seconds: float = LOOP_SECONDS
    ) -> None:
        self.loop_seconds = loop_seconds
        self._shares = workers
        self._threads = Lane("thread", workers, queue_length, be_nice)
        self._processes = Lane("process", workers, queue_length)
        self._workers = Workers(metrics.WORKER_RESTARTS.inc)

    async def solve(
        self,
        problems: Sequence[AnyProblem],
        spec: SolveSpec,
        deadline_seconds: float,
        gone: Gone | None = None,
        client: str = "",
    ) -> Sequence[Schedule]:
        """Solve ``problems`` of one size as ``spec`` says, within ``deadline_seconds`` from now.

        Many problems are shared out among as many threads or processes as one ``client`` may use.

        Raises
        ------
        InvalidProblemError
            The problems cannot be solved this way.
        DeadlineExceededError
            There is no answer by then.
        QueueFullError
            The queue is full.
        AbandonedError
            ``gone`` returned before there was an answer.
        WorkerDiedError
            The solver process died.
        """
        spec.require_suited(problems[0])
        lane = self._lane(problems, spec)
        if lane is None:
            started = time.perf_counter()
            schedules = _solve_each(problems, spec)
            if time.perf_counter() - started > deadline_seconds:
                raise DeadlineExceededError
            return schedules
        share = -(-len(problems) // self._shares)
        until = time.monotonic() + deadline_seconds - GRACE_SECONDS
        runs = []
        for first in range(0, len(problems), share):
            work = self._work(problems[first : first + share], spec, until, client)
            # One watch over the client is enough: when one part is abandoned, all are.
            runs.append(lane.run(work, deadline_seconds, gone if first == 0 else None))
        parts = await _all_or_none(runs)
        return [schedule for part in parts for schedule in part]

    async def frontier(
        self,
        problem: AnyProblem,
        spec: SolveSpec,
        min_devices: int,
        deadline_seconds: float,
        gone: Gone | None = None,
        client: str = "",
    ) -> Frontier:
        """Find the frontier of ``problem``; arguments and errors are as for :meth:`solve`."""
        spec.require_suited(problem)
        stop = np.zeros(1, np.bool_)
        find = partial(find_frontier, problem, spec, stop, min_devices)
        work = Work(client, find, partial(stop.fill, True))
        loop = asyncio.get_running_loop()
        timer = loop.call_later(SEARCH_SHARE * deadline_seconds, work.interrupt)
        try:
            return await self._threads.run(work, deadline_seconds, gone)
        finally:
            timer.cancel()

    def _lane(self, problems: Sequence[AnyProblem], spec: SolveSpec) -> Lane | None:
        """Return where ``problems`` of one size are solved; None for here and now."""
        first = problems[0]
        if not spec.polish and not spec.bound:
            size = (first.antennas, first.devices)
            each = spec.scheduler.longest_seconds(spec.parameters, *size)
            if len(problems) * each <= self.loop_seconds:
                return None
        return self._processes if spec.scheduler.pace == "slow" else self._threads

    def _work(
        self,
        problems: Sequence[AnyProblem],
        spec: SolveSpec,
        until: float,
        client: str,
    ) -> Work[Schedules]:
        if spec.scheduler.pace == "slow":
            job = Job(self._workers, partial(_solve_until, problems, spec, until))
            return Work(client, job.run, job.end)
        stop = np.zeros(1, np.bool_)
        solve_here = partial(_solve_each, problems, spec, stop)
        return Work(client, solve_here, partial(stop.fill, True))

    def start(self) -> None:
        """Start the first solver process; a new service takes seconds for it.

        Raises
        ------
        WorkerDiedError
            No process could be started.
        """
        self._workers.start()

    def close(self) -> None:
        """Take no more work and wait for what is running."""
        self._threads.close()
        self._processes.close()
        self._workers.close()


def be_nice() -> None:
    """Let the event loop go first where cores are short; Linux can do that thread by thread.

    Not for threads that wait for processes: those would be born nice, and their server with them.
    """
    if sys.platform == "linux":
        thread = threading.get_native_id()
        # On top of the service's own niceness: only a privileged process may lower it.
        niceness = os.getpriority(os.PRIO_PROCESS, thread) + NICENESS
        os.setpriority(os.PRIO_PROCESS, thread, min(niceness, 19))


def _solve_each(
    problems: Sequence[AnyProblem], spec: SolveSpec, stop: MaskArray | None = None
) -> Schedules:
    if not spec.bound:
        return [solve_specified(problem, spec, stop) for problem in problems]
    # Bounds come last, so that a deadline that cuts them short leaves every schedule.
    schedules = _solve_each(problems, replace(spec, bound=False, bound_ms=None), stop)
    return [
        with_bound(problem, schedule, spec, stop)
        for problem, schedule in zip(problems, schedules, strict=True)
    ]


def _solve_until(problems: Sequence[AnyProblem], spec: SolveSpec, until: float) -> Schedules:
    """Solve in a process of its own; end the proof of a bound before the process is killed."""
    if not spec.bound:
        return _solve_each(problems, spec)
    with flag_after(until - time.monotonic()) as stop:
        return _solve_each(problems, spec, stop)


async def _all_or_none(runs: Sequence[Coroutine[Any, Any, Schedules]]) -> Sequence[Schedules]:
    """Wait for all ``runs``; if one fails, end the others and raise what it raised."""
    if len(runs) == 1:
        return [await runs[0]]
    tasks = [asyncio.ensure_future(run) for run in runs]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
