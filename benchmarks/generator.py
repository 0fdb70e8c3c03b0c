"""The load generator: keep-alive connections that send the same bytes over and over.

It has two ways. *Closed*: every connection sends again as soon as it is answered, which finds what
a service can do at most. *Open*: requests are due at times drawn in advance, whatever happened to
earlier ones. One that is due is sent at once on a free connection, or waits for one; its latency
counts from the moment at which it was due. So a server that stalls delays every request that
arrives meanwhile, as it would delay independent clients; a closed generator would leave those out.

Every latency is kept: ten thousand need no histogram, and percentiles are exact. The generator runs
in a separate process (:mod:`benchmarks.load`): ``python -m benchmarks.generator`` reads its work as
a line of JSON and the request behind it, and prints the outcome as JSON. It measures how busy it is
and how late it sends. The event loop waits with ``select``, because its timeout is in microseconds,
not milliseconds.
"""

import asyncio
import gc
import json
import os
import selectors
import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import cast

import numpy as np

DRAIN_SECONDS = 20.0
"""How long the last answers of a run may take."""


@dataclass(frozen=True)
class Outcome:
    """What a run saw; latencies in seconds.

    Parameters
    ----------
    seconds
        How long it took, until the last answer.
    latencies
        Of all requests, by status.
    busy
        Share of its core that the generator used.
    late
        Median time by which requests were sent late though a connection was free.
    """

    seconds: float
    latencies: dict[str, list[float]]
    busy: float
    late: float

    @property
    def requests(self) -> int:
        """How many requests were answered."""
        return sum(map(len, self.latencies.values()))

    @property
    def requests_per_second(self) -> float:
        """How many were answered in a second."""
        return self.requests / self.seconds

    def percentile(self, share: float, status: int = 200) -> float:
        """Return the latency that ``share`` per cent of the answers with ``status`` stay below."""
        return float(np.percentile(self.latencies[str(status)], share))


def arrivals(rng: np.random.Generator, rate: float, seconds: float) -> list[float]:
    """Return the times of a Poisson process with ``rate`` arrivals per second."""
    # Far more than will be needed, so that the last lies beyond the end.
    count = int(rate * seconds + 10 * np.sqrt(rate * seconds) + 20)
    times = np.cumsum(rng.exponential(1 / rate, count))
    return cast(list[float], times[times < seconds].tolist())


class _Connection(asyncio.Protocol):
    """One connection, with at most one request on its way."""

    def __init__(self, pool: "_Pool") -> None:
        self._pool = pool
        self._buffer = b""
        self.due = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def send(self, due: float) -> None:
        self.due = due
        self._transport.write(self._pool.request)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, separator, body = self._buffer.partition(b"\r\n\r\n")
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        if separator and len(body) >= int(length):
            self._buffer = b""
            self._pool.answered(self, head, body)

    def connection_lost(self, error: Exception | None) -> None:
        self._pool.lost(self)

    def close(self) -> None:
        self._transport.abort()


class _Pool:
    """Sends requests when they are due, and keeps their latencies.

    Parameters
    ----------
    due
        When requests are due, from :meth:`start` on; None for whenever a connection is free.
    seconds
        When to end, if ``due`` is None.
    statuses
        Those that may be answered.
    """

    def __init__(
        self,
        port: int,
        request: bytes,
        due: Sequence[float] | None,
        seconds: float = 0.0,
        statuses: Sequence[int] = (200,),
    ) -> None:
        self.request = request
        self.latencies: dict[str, list[float]] = {str(status): [] for status in statuses}
        self.late: list[float] = []
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.free: list[_Connection] = []
        self._port, self._due, self._seconds = port, due, seconds
        self._loop = asyncio.get_running_loop()
        self._connections: set[_Connection] = set()
        self._opening: set[asyncio.Task[None]] = set()
        self._waiting: deque[float] = deque()
        self._next = self._answered = self._sent = 0

    async def open(self) -> None:
        """Open one more connection."""
        _, made = await self._loop.create_connection(
            lambda: _Connection(self), "127.0.0.1", self._port
        )
        self._connections.add(made)
        self.free.append(made)
        self._send_waiting()

    def start(self) -> None:
        self._origin = self._loop.time()
        if self._due is None:
            self._waiting.extend(0.0 for _ in self.free)
            self._sent = len(self._waiting)
            while self.free and self._waiting:
                self._send_waiting()
        else:
            self._sent = len(self._due)
            self._send_due()

    def _send_due(self) -> None:
        assert self._due is not None
        now = self._loop.time() - self._origin
        while self._next < len(self._due) and self._due[self._next] <= now:
            due = self._due[self._next]
            self._next += 1
            if self.free:
                self.late.append(self._loop.time() - self._origin - due)
            self._waiting.append(due)
            self._send_waiting()
        if self._next < len(self._due):
            self._loop.call_at(self._origin + self._due[self._next], self._send_due)

    def _send_waiting(self) -> None:
        if self.free and self._waiting:
            # The one used last: the server closes those that have long been idle.
            self.free.pop().send(self._waiting.popleft())

    def answered(self, connection: _Connection, head: bytes, body: bytes) -> None:
        status = head[9:12].decode()
        if status not in self.latencies:
            self._fail(f"{head.decode()} {body[:500].decode(errors='replace')}")
            return
        now = self._loop.time() - self._origin
        self.latencies[status].append(now - connection.due)
        self._answered += 1
        self.free.append(connection)
        if self._due is None and now < self._seconds:
            self._sent += 1
            self._waiting.append(now)
        self._send_waiting()
        if self._answered == self._sent and not self.done.done():
            self.done.set_result(None)

    def lost(self, connection: _Connection) -> None:
        """Replace a connection that the service closed because it was idle.

        A request that was sent on it at that moment is sent again.
        """
        if self.done.done():
            return
        self._connections.discard(connection)
        if connection in self.free:
            self.free.remove(connection)
        else:
            self._waiting.appendleft(connection.due)
        opening = self._loop.create_task(self.open())
        self._opening.add(opening)
        opening.add_done_callback(self._opening.discard)

    def close(self) -> None:
        for connection in self._connections:
            connection.close()

    def _fail(self, words: str) -> None:
        if not self.done.done():
            self.done.set_exception(RuntimeError(words))


async def _run(pool: _Pool, connections: int, seconds: float) -> Outcome:
    try:
        for _ in range(connections):
            await pool.open()
        started, used = time.perf_counter(), time.process_time()
        pool.start()
        await asyncio.wait_for(pool.done, seconds + DRAIN_SECONDS)
        taken = time.perf_counter() - started
        busy = (time.process_time() - used) / taken
    finally:
        pool.close()
        # The sockets are closed in the next turn of the loop.
        await asyncio.sleep(0)
    return Outcome(taken, pool.latencies, busy, median(pool.late) if pool.late else 0.0)


def run(
    port: int,
    request: bytes,
    due: Sequence[float] | None,
    seconds: float,
    *,
    connections: int,
    statuses: Sequence[int] = (200,),
) -> Outcome:
    """Send ``request`` to 127.0.0.1 in this process, and wait for all answers.

    Parameters
    ----------
    due
        When requests are due, in seconds from now; None to send whenever a connection is free.

    Raises
    ------
    RuntimeError
        The service answered something else than ``statuses``.
    TimeoutError
        The last answer did not come in :data:`DRAIN_SECONDS`.
    """
    if due is not None and not due:
        raise ValueError(f"nothing arrives in {seconds} s")

    async def generate() -> Outcome:
        return await _run(_Pool(port, request, due, seconds, statuses), connections, seconds)

    gc.disable()
    loop = asyncio.SelectorEventLoop(selectors.SelectSelector())
    try:
        return loop.run_until_complete(generate())
    finally:
        loop.close()
        gc.enable()


if __name__ == "__main__":
    work = json.loads(sys.stdin.buffer.readline())
    if cores := work.pop("cores"):
        os.sched_setaffinity(0, cores)
    print(json.dumps(asdict(run(request=sys.stdin.buffer.read(), **work))))
