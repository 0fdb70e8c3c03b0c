"""A lane: threads that run solves, or wait for their processes, and a fair, bounded queue.

A client alone may keep ``workers`` of them busy; one more thread is there for the others, so that
nobody has to wait for the end of somebody else's long solve. Clients take turns: a thread that
becomes free takes the next solve of the client that runs the fewest. When the queue is full, a
client with less to do than another takes the place of that client's newest solve.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from app import metrics
from app.scheduling import DeadlineExceededError
from app.shares import OverloadedError

Outcome = TypeVar("Outcome")

GRACE_SECONDS = 0.05
"""How long after the deadline a running solve may take to end."""

Gone = Callable[[], Awaitable[None]]
"""Waits until nobody wants the answer any more."""


class QueueFullError(OverloadedError):
    """As many solves are waiting as may wait."""


class AbandonedError(Exception):
    """Whoever asked has gone."""


@dataclass(eq=False)
class Work(Generic[Outcome]):
    """One solve.

    Parameters
    ----------
    client
        Who asks for it.
    run
        Solves, in a thread.
    interrupt
        Makes ``run`` end early, when nobody waits for it any more.
    """

    client: str
    run: Callable[[], Outcome]
    interrupt: Callable[[], None]


@dataclass(eq=False)
class _Task(Generic[Outcome]):
    work: Work[Outcome]
    outcome: "asyncio.Future[Outcome]"
    running: bool = False


class Lane:
    """Threads and the queue before them.

    Parameters
    ----------
    workers
        Solves of one client that run at once; of several clients, one more.
    queue_length
        Number of solves that may wait.
    prepare
        What each thread does first.
    """

    def __init__(
        self,
        name: str,
        workers: int,
        queue_length: int,
        prepare: Callable[[], None] | None = None,
    ) -> None:
        self._workers = workers
        self._threads = ThreadPoolExecutor(workers + 1, f"solve-{name}", prepare)
        self._queue_length = queue_length
        self._running: Counter[str] = Counter()
        self._waiting: dict[str, deque[_Task[Any]]] = {}
        self._gauge = metrics.QUEUE_LENGTH.labels(name)
        metrics.QUEUE_LIMIT.labels(name).set(queue_length)

    async def run(
        self, work: Work[Outcome], deadline_seconds: float, gone: Gone | None = None
    ) -> Outcome:
        """Wait for ``work``, and interrupt it when nobody waits for it any more.

        Raises
        ------
        QueueFullError
            There is no place in the queue, or a client with less to do took it.
        DeadlineExceededError, AbandonedError
            There is no outcome by the deadline, or ``gone`` returned before.
        """
        outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        task = _Task(work, outcome)
        self._admit(task)
        departure = None if gone is None else asyncio.ensure_future(gone())
        awaited: list[asyncio.Future[Any]] = [outcome]
        if departure is not None:
            awaited.append(departure)
        try:
            await asyncio.wait(
                awaited, timeout=deadline_seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if outcome.done():
                return outcome.result()
            work.interrupt()
            if departure is not None and departure.done():
                raise AbandonedError
            # If it is running, it sees the interruption soon: an anytime search then returns the
            # best it has, any other raises DeadlineExceededError.
            if task.running:
                await asyncio.wait([outcome], timeout=GRACE_SECONDS)
            if outcome.done():
                return outcome.result()
            raise DeadlineExceededError
        finally:
            if departure is not None:
                departure.cancel()
            if not outcome.done():
                work.interrupt()
                self._forget(task)

    def close(self) -> None:
        """Take no more work and wait for what is running."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _admit(self, task: _Task[Any]) -> None:
        client = task.work.client
        if not self._waiting.get(client) and self._may_start(client):
            self._start(task)
            return
        if sum(map(len, self._waiting.values())) >= self._queue_length:
            busiest = max(self._waiting, key=self._load, default=client)
            if self._load(busiest) <= self._load(client) + 1:
                raise QueueFullError
            self._refuse_newest_of(busiest)
        self._waiting.setdefault(client, deque()).append(task)
        self._show_length()

    def _may_start(self, client: str) -> bool:
        alone = self._running.keys() <= {client}
        threads = self._workers if alone else self._workers + 1
        return self._running[client] < self._workers and self._running.total() < threads

    def _refuse_newest_of(self, client: str) -> None:
        refused = self._waiting[client].pop()
        self._tidy(client)
        if not refused.outcome.done():
            refused.outcome.set_exception(QueueFullError())

    def _load(self, client: str) -> int:
        return self._running[client] + len(self._waiting.get(client, ()))

    def _start(self, task: _Task[Any]) -> None:
        task.running = True
        self._running[task.work.client] += 1
        loop = task.outcome.get_loop()
        future = self._threads.submit(task.work.run)
        future.add_done_callback(
            lambda done: loop.is_closed() or loop.call_soon_threadsafe(self._finish, task, done)
        )

    def _finish(self, task: _Task[Any], done: "Future[Any]") -> None:
        client = task.work.client
        self._running[client] -= 1
        if not self._running[client]:
            del self._running[client]
        if not task.outcome.done():
            if done.cancelled():
                task.outcome.cancel()
            elif (error := done.exception()) is not None:
                task.outcome.set_exception(error)
            else:
                task.outcome.set_result(done.result())
        self._start_waiting()

    def _start_waiting(self) -> None:
        """Start what may start, of the client that runs the fewest, longest served last."""
        while ready := [client for client in self._waiting if self._may_start(client)]:
            client = min(ready, key=self._running.__getitem__)
            task = self._waiting[client].popleft()
            # To the end of the turn.
            self._waiting[client] = self._waiting.pop(client)
            self._tidy(client)
            self._start(task)

    def _forget(self, task: _Task[Any]) -> None:
        """Take a solve out of the queue; one that runs ends on its own."""
        client = task.work.client
        if not task.running and task in self._waiting.get(client, ()):
            self._waiting[client].remove(task)
            self._tidy(client)
        task.outcome.cancel()

    def _tidy(self, client: str) -> None:
        if not self._waiting[client]:
            del self._waiting[client]
        self._show_length()

    def _show_length(self) -> None:
        self._gauge.set(sum(map(len, self._waiting.values())))
