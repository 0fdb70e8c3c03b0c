"""Where a solve runs, with a deadline: here and now, in a thread, or in a process of its own.

- Short solves run on the event loop: a hop to a thread and back would cost the loop more than they
  do. ``make bench`` measures both (``benchmarks/execution.py``), which sets :data:`INLINE_ENTRIES`.
- Longer ones that look at their stop flag run in threads: compiled, without the interpreter lock.
- Slow ones run in processes, which are killed when nobody waits any more: at the deadline, and when
  the client has gone. However slow they are, they hold no thread that others need, and no lock.

Threads and processes each have a bounded queue. A burst may fill it. When solves have been waiting
for a thread for :data:`BURST_SECONDS`, more arrives than can be solved: from then on only as many
may wait as run, and the rest are refused at once.
"""

import asyncio
import math
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from app import metrics
from app.scheduling import (
    DeadlineExceededError,
    IrsProblem,
    Problem,
    Schedule,
    SolveSpec,
    solve_specified,
)
from app.scheduling.types import MaskArray
from app.workers import NICENESS, Job, Workers

INLINE_ENTRIES = 1000
"""Default of ``inline_entries``."""

GRACE_SECONDS = 0.05
"""How long after the deadline a running solve may take to end."""

BURST_SECONDS = 0.1
"""How long the queue for a thread may hold more solves than there are threads."""

Schedules = list[Schedule]

Gone = Callable[[], Awaitable[None]]
"""Waits until nobody wants the answer any more."""


class OverloadedError(Exception):
    """Base of the errors that refuse a request because there is too much to do."""


class QueueFullError(OverloadedError):
    """As many solves are waiting as may wait."""


class AbandonedError(Exception):
    """Whoever asked has gone."""


class Executor:
    """Runs solves and keeps their deadlines.

    Parameters
    ----------
    workers
        Number of solves that run at once in threads, and in processes.
    queue_length
        Number of further ones that may wait for each.
    inline_entries
        Problems with at most this many channel entries, N·K, are short for a short scheduler.
    """

    def __init__(
        self, workers: int, queue_length: int, *, inline_entries: int = INLINE_ENTRIES
    ) -> None:
        self.inline_entries = inline_entries
        self._threads = _Lane("thread", workers, queue_length, BURST_SECONDS, _be_nice)
        self._processes = _Lane("process", workers, queue_length, math.inf)
        self._workers = Workers(metrics.WORKER_RESTARTS.inc)

    async def solve(
        self,
        problems: Sequence[Problem | IrsProblem],
        spec: SolveSpec,
        deadline_seconds: float,
        gone: Gone | None = None,
    ) -> Sequence[Schedule]:
        """Solve ``problems`` of one size as ``spec`` says, within ``deadline_seconds`` from now.

        Many problems are shared out among as many threads or processes as there are.

        Raises
        ------
        InvalidProblemError
            The problems cannot be solved this way.
        DeadlineExceededError
            There is no answer by then.
        QueueFullError
            The queue is full; nothing was done.
        AbandonedError
            ``gone`` returned before there was an answer.
        WorkerDiedError
            The solver process died.
        """
        spec.require_suited(problems[0])
        if self._runs_inline(problems, spec):
            started = time.perf_counter()
            schedules = _solve_each(problems, spec)
            if time.perf_counter() - started > deadline_seconds:
                raise DeadlineExceededError
            return schedules
        share = -(-len(problems) // self._processes.workers)
        stop = np.zeros(1, np.bool_)
        runs = []
        for first in range(0, len(problems), share):
            part = problems[first : first + share]
            # One watch over the client is enough: when one part is abandoned, all are.
            watch = gone if first == 0 else None
            if spec.scheduler.pace == "slow":
                job = Job(self._workers, partial(_solve_each, part, spec))
                runs.append(self._processes.run(job.run, job.end, deadline_seconds, watch))
            else:
                work = partial(_solve_each, part, spec, stop)
                interrupt = partial(stop.fill, True)
                runs.append(self._threads.run(work, interrupt, deadline_seconds, watch))
        parts = await _all_or_none(runs)
        return [schedule for part in parts for schedule in part]

    def _runs_inline(self, problems: Sequence[Problem | IrsProblem], spec: SolveSpec) -> bool:
        entries = problems[0].entries * len(problems)
        return spec.scheduler.pace == "short" and entries <= self.inline_entries and not spec.polish

    def close(self) -> None:
        """Take no more work and wait for what is running."""
        self._threads.close()
        self._processes.close()
        self._workers.close()


class _Lane:
    """Threads that run solves, or wait for their processes, and a bounded queue before them.

    Parameters
    ----------
    burst_seconds
        How long solves may be waiting before only as many may wait as run.
    prepare
        What each thread does first.
    """

    def __init__(
        self,
        name: str,
        workers: int,
        queue_length: int,
        burst_seconds: float,
        prepare: Callable[[], None] | None = None,
    ) -> None:
        self._threads = ThreadPoolExecutor(workers, f"solve-{name}", prepare)
        self.workers = workers
        self._queue_length = queue_length
        self._burst_seconds = burst_seconds
        self._pending = self._waiting = 0
        self._burst_began = self._calm_since = -math.inf
        self._gauge = metrics.QUEUE_LENGTH.labels(name)

    async def run(
        self,
        work: Callable[[], Schedules],
        interrupt: Callable[[], None],
        deadline_seconds: float,
        gone: Gone | None,
    ) -> Schedules:
        """Wait for ``work``, and ``interrupt`` it when nobody waits for it any more."""
        if self._waiting >= self._max_waiting():
            raise QueueFullError
        loop = asyncio.get_running_loop()
        self._count(1)
        future = self._threads.submit(work)
        future.add_done_callback(lambda _: loop.call_soon_threadsafe(self._count, -1))
        answer = asyncio.wrap_future(future)
        departure = None if gone is None else asyncio.ensure_future(gone())
        awaited: list[asyncio.Future[Any]] = [answer] if departure is None else [answer, departure]
        try:
            await asyncio.wait(
                awaited,
                timeout=deadline_seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if answer.done():
                return answer.result()
            interrupt()
            if departure is not None and departure.done():
                raise AbandonedError
            # If it is running, it sees the interruption soon: an anytime search then returns the
            # best it has, any other raises DeadlineExceededError.
            if not future.cancel() and (await asyncio.wait([answer], timeout=GRACE_SECONDS))[0]:
                return answer.result()
            raise DeadlineExceededError
        finally:
            if departure is not None:
                departure.cancel()
            if not answer.done():
                interrupt()
                future.cancel()
                answer.add_done_callback(_ignore)

    def _max_waiting(self) -> int:
        # Nobody waits, or not for long.
        if self._waiting == 0 or time.monotonic() - self._burst_began < self._burst_seconds:
            return self._queue_length
        return min(self._queue_length, self.workers)

    def _count(self, more: int) -> None:
        now, before = time.monotonic(), self._waiting
        self._pending += more
        self._waiting = max(0, self._pending - self.workers)
        if before and not self._waiting:
            self._calm_since = now
        # Between two bursts it must have been calm for a while; otherwise they are one.
        elif self._waiting and not before and now - self._calm_since >= self._burst_seconds:
            self._burst_began = now
        self._gauge.set(self._waiting)

    def close(self) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)


def _be_nice() -> None:
    """Let the event loop go first where cores are short; Linux can do that thread by thread.

    Not for threads that wait for processes: those would be born nice, and their server with them.
    """
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)


def _solve_each(
    problems: Sequence[Problem | IrsProblem], spec: SolveSpec, stop: MaskArray | None = None
) -> Schedules:
    return [solve_specified(problem, spec, stop) for problem in problems]


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


def _ignore(answer: "asyncio.Future[Schedules]") -> None:
    """Look at the outcome of a solve that nobody waits for any more, so that none is reported."""
    if not answer.cancelled():
        answer.exception()
