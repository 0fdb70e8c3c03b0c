"""A lane: threads that run solves, or wait for their processes, and a fair, bounded queue.

A client alone may keep ``workers`` of them busy; one more thread is there for the others, so that
no client waits for the end of another's long solve. Clients take turns: a thread that
becomes free takes the next solve of the client that runs the fewest. When the queue is full, a
client with less to do than another takes the place of that client's newest solve.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from app import metrics
from app.admission import OverloadedError
from app.deadline import ClientDisconnectedError, Deadline
from app.scheduling import DeadlineExceededError

Outcome = TypeVar("Outcome")


class QueueFullError(OverloadedError):
    """The limit of waiting solves is reached."""


@dataclass(eq=False)
class Work(Generic[Outcome]):
    """One solve.

    Parameters
    ----------
    run
        Solves, in a thread, and looks at the deadline's flag.
    kill
        Ends ``run`` if it does not look.
    """

    run: Callable[[], Outcome]
    kill: Callable[[], None] = lambda: None


@dataclass(eq=False)
class _Task(Generic[Outcome]):
    work: Work[Outcome]
    client: str
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

    async def run(self, works: Sequence[Work[Outcome]], deadline: Deadline) -> list[Outcome]:
        """Wait for all of ``works``, and stop them at the deadline or if the client disconnects.

        Raises
        ------
        QueueFullError
            There is no room for all of them, or a client with less to do took it.
        DeadlineExceededError, ClientDisconnectedError
            Before there were all outcomes.
        """
        deadline.require_time()
        create_future = asyncio.get_running_loop().create_future
        tasks = [_Task(work, deadline.client, create_future()) for work in works]
        self._admit(deadline.client, tasks)
        outcomes = asyncio.gather(*(task.outcome for task in tasks))
        # Looked at here as well, because nobody does once the deadline has passed.
        outcomes.add_done_callback(lambda done: done.cancelled() or done.exception())
        awaited: list[asyncio.Future[Any]] = [outcomes]
        if deadline.disconnected is not None:
            awaited.append(asyncio.ensure_future(deadline.disconnected()))
        try:
            await _first_of(awaited, deadline.search_seconds)
            if not outcomes.done() and all(task.running for task in tasks):
                # An anytime search now returns the best it has.
                deadline.stop_search()
                await _first_of(awaited, deadline.last_seconds)
            if outcomes.done():
                return outcomes.result()
            if any(other.done() for other in awaited[1:]):
                raise ClientDisconnectedError
            raise DeadlineExceededError
        finally:
            deadline.stop_search()
            for future in awaited:
                future.cancel()
            for task in tasks:
                self._forget(task)

    def close(self) -> None:
        """Take no more work and wait for what is running."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _admit(self, client: str, tasks: Sequence[_Task[Any]]) -> None:
        """Start or queue all ``tasks`` of ``client``, or none."""
        idle = 0 if self._waiting.get(client) else self._idle_threads(client)
        excess = self._count_waiting() + max(0, len(tasks) - idle) - self._queue_length
        for busiest in self._busiest(excess, self._load(client) + len(tasks)):
            self._evict_newest_of(busiest)
        for task in tasks[:idle]:
            self._start(task)
        if tasks[idle:]:
            self._waiting.setdefault(client, deque()).extend(tasks[idle:])
        self._gauge.set(self._count_waiting())

    def _busiest(self, count: int, load: int) -> list[str]:
        """Return whose newest solves give way to ``count`` of a client that then has ``load``.

        Raises
        ------
        QueueFullError
            The busier clients have not as many solves in the queue.
        """
        loads = {client: self._load(client) for client in self._waiting}
        found = []
        for _ in range(count):
            busiest = max(loads, key=loads.__getitem__, default="")
            if loads.get(busiest, 0) <= load:
                raise QueueFullError
            found.append(busiest)
            loads[busiest] -= 1
            if found.count(busiest) == len(self._waiting[busiest]):
                del loads[busiest]
        return found

    def _idle_threads(self, client: str) -> int:
        """Return how many solves of ``client`` can start now."""
        alone = self._running.keys() <= {client}
        threads = self._workers if alone else self._workers + 1
        return min(self._workers - self._running[client], threads - self._running.total())

    def _evict_newest_of(self, client: str) -> None:
        evicted = self._waiting[client].pop()
        self._tidy(client)
        if not evicted.outcome.done():
            evicted.outcome.set_exception(QueueFullError())

    def _load(self, client: str) -> int:
        return self._running[client] + len(self._waiting.get(client, ()))

    def _count_waiting(self) -> int:
        return sum(map(len, self._waiting.values()))

    def _start(self, task: _Task[Any]) -> None:
        task.running = True
        self._running[task.client] += 1
        loop = task.outcome.get_loop()
        future = self._threads.submit(task.work.run)
        future.add_done_callback(
            lambda done: loop.is_closed() or loop.call_soon_threadsafe(self._finish, task, done)
        )

    def _finish(self, task: _Task[Any], done: "Future[Any]") -> None:
        self._running[task.client] -= 1
        if not self._running[task.client]:
            del self._running[task.client]
        if not task.outcome.done():
            if done.cancelled():
                task.outcome.cancel()
            elif (error := done.exception()) is not None:
                task.outcome.set_exception(error)
            else:
                task.outcome.set_result(done.result())
        self._start_waiting()

    def _start_waiting(self) -> None:
        """Start what can start, of the client that runs the fewest and was served longest ago."""
        while ready := [client for client in self._waiting if self._idle_threads(client) > 0]:
            client = min(ready, key=self._running.__getitem__)
            task = self._waiting[client].popleft()
            # To the end of the turn.
            self._waiting[client] = self._waiting.pop(client)
            self._tidy(client)
            self._start(task)

    def _forget(self, task: _Task[Any]) -> None:
        """Take an unwanted solve out of the queue, or kill it."""
        if task.running:
            task.work.kill()
        elif task in self._waiting.get(task.client, ()):
            self._waiting[task.client].remove(task)
            self._tidy(task.client)
        task.outcome.cancel()

    def _tidy(self, client: str) -> None:
        if not self._waiting[client]:
            del self._waiting[client]
        self._gauge.set(self._count_waiting())


async def _first_of(awaited: Sequence["asyncio.Future[Any]"], seconds: float) -> None:
    await asyncio.wait(awaited, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
