"""An open-loop load generator: requests arrive at random times, whatever became of the last ones.

The arrivals are a Poisson process drawn in advance. A request that is due is sent at once on a free
connection, or waits for one; its latency counts from the moment at which it was due. So a server
that stalls delays every request that arrives meanwhile, as it would delay independent clients; a
generator that waits for an answer before it sends again would leave those out.

Everything is kept and sorted: ten thousand latencies need no histogram, and percentiles are exact.

It runs in a process of its own, on its own core, and measures how busy it is and how late it sends.
The event loop waits with ``select``, because its timeout is in microseconds, not milliseconds.
"""

import asyncio
import gc
import json
import math
import selectors
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import cast

import numpy as np

from benchmarks import load

CONNECTIONS = 128
DRAIN_SECONDS = 20.0
"""How long the last answers of a run may take."""

SHORTEST_SECONDS = 3.0
"""How long a run takes at least."""

PERCENTILES = (50.0, 99.0, 99.9)


@dataclass(frozen=True)
class Outcome:
    """What a run at one rate saw; latencies in seconds.

    Parameters
    ----------
    rate
        Arrivals per second that were asked for.
    requests
        How many arrived, all of which were answered.
    percentiles
        Latencies at :data:`PERCENTILES`; None where there are too few requests to tell.
    busy
        Share of its core that the generator used.
    late
        Median time by which requests were sent late though a connection was free.
    """

    rate: float
    requests: int
    percentiles: Sequence[float | None]
    busy: float
    late: float


def arrivals(
    rng: np.random.Generator, rate: float, seconds: float
) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """Return the times of a Poisson process with ``rate`` arrivals per second."""
    # Far more than will be needed, so that the last lies beyond the end.
    count = int(rate * seconds + 10 * np.sqrt(rate * seconds) + 20)
    times = np.cumsum(rng.exponential(1 / rate, count))
    return times[times < seconds]


def percentiles(latencies: Sequence[float]) -> list[float | None]:
    """Return the latencies at :data:`PERCENTILES`; None beyond which no request is expected."""
    ordered, count = sorted(latencies), len(latencies)
    # How many lie at or below each; 99.9 % of 2000 are 1998, which floating point makes more.
    ranks = [math.ceil(count * share / 100 - 1e-9) for share in PERCENTILES]
    return [ordered[rank - 1] if rank < count else None for rank in ranks]


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
        answer = load.whole_answer(self._buffer)
        if answer is not None:
            self._buffer = b""
            self._pool.answered(self, answer)

    def connection_lost(self, error: Exception | None) -> None:
        self._pool.lost(self)

    def close(self) -> None:
        self._transport.abort()


class _Pool:
    """Sends requests when they are due, and keeps their latencies."""

    def __init__(self, port: int, request: bytes, due: Sequence[float]) -> None:
        self.request = request
        self._port = port
        self.latencies: list[float] = []
        self.late: list[float] = []
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.free: list[_Connection] = []
        self._connections: set[_Connection] = set()
        self._opening: set[asyncio.Task[None]] = set()
        self._waiting: deque[float] = deque()
        self._due = due
        self._next = 0

    async def open(self) -> None:
        """Open one more connection."""
        loop = asyncio.get_running_loop()
        _, made = await loop.create_connection(lambda: _Connection(self), "127.0.0.1", self._port)
        self._connections.add(made)
        self._use(made)

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._origin = self._loop.time()
        self._send_due()

    def _send_due(self) -> None:
        now = self._loop.time() - self._origin
        while self._next < len(self._due) and self._due[self._next] <= now:
            due = self._due[self._next]
            self._next += 1
            if self.free:
                self.late.append(self._loop.time() - self._origin - due)
                self.free.pop().send(due)
            else:
                self._waiting.append(due)
        if self._next < len(self._due):
            self._loop.call_at(self._origin + self._due[self._next], self._send_due)

    def answered(self, connection: _Connection, answer: tuple[bytes, bytes]) -> None:
        head, body = answer
        if not head.startswith(b"HTTP/1.1 200"):
            self.fail(f"{head.decode()} {body[:500].decode(errors='replace')}")
            return
        self.latencies.append(self._loop.time() - self._origin - connection.due)
        self._use(connection)
        if len(self.latencies) == len(self._due):
            self.done.set_result(None)

    def lost(self, connection: _Connection) -> None:
        """Replace a connection that the service closed: it does that to those that are idle.

        It may do so just when a request is sent there, which is sent again.
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

    def _use(self, connection: _Connection) -> None:
        if self._waiting:
            connection.send(self._waiting.popleft())
        else:
            self.free.append(connection)

    def fail(self, words: str) -> None:
        if not self.done.done():
            self.done.set_exception(RuntimeError(words))


async def _run(port: int, request: bytes, rate: float, seconds: float, seed: int) -> Outcome:
    due = arrivals(np.random.default_rng(seed), rate, seconds).tolist()
    if not due:
        raise ValueError(f"nothing arrives in {seconds} s at {rate} per second")
    pool = _Pool(port, request, due)
    try:
        for _ in range(min(CONNECTIONS, len(due))):
            await pool.open()
        started, used = time.perf_counter(), time.process_time()
        pool.start()
        await asyncio.wait_for(pool.done, seconds + DRAIN_SECONDS)
        busy = (time.process_time() - used) / (time.perf_counter() - started)
    finally:
        pool.close()
        # The sockets are closed in the next turn of the loop.
        await asyncio.sleep(0)
    late = float(np.median(pool.late)) if pool.late else 0.0
    return Outcome(rate, len(due), percentiles(pool.latencies), busy, late)


def run(port: int, request: bytes, rate: float, seconds: float, seed: int = 0) -> Outcome:
    """Send ``request`` to 127.0.0.1 at ``rate`` for a number of seconds, and wait for all answers.

    Raises
    ------
    RuntimeError
        The service answered something other than success.
    TimeoutError
        The last answer did not come in :data:`DRAIN_SECONDS`.
    """
    gc.disable()
    loop = asyncio.SelectorEventLoop(selectors.SelectSelector())
    try:
        return loop.run_until_complete(_run(port, request, rate, seconds, seed))
    finally:
        loop.close()
        gc.enable()


def seconds_for(rate: float) -> float:
    """Return how long to run at ``rate``: for the 99.9th percentile, or at least for the 99th."""
    for requests, longest in ((1100, 15.0), (110, 60.0)):
        if requests / rate <= longest:
            return max(SHORTEST_SECONDS, requests / rate)
    return longest


def run_each(
    port: int, request: bytes, rates: Sequence[float], cores: set[int]
) -> Iterator[Outcome]:
    """Run at each of ``rates`` in a process of its own on ``cores``; yield each outcome at once."""
    work = {"port": port, "rates": list(rates), "cores": sorted(cores)}
    with subprocess.Popen(
        [sys.executable, "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(work).encode() + b"\n" + request)
        process.stdin.close()
        for line in process.stdout:
            yield Outcome(**json.loads(line))
    if process.returncode:
        raise RuntimeError("the load generator failed; the reason is above")


if __name__ == "__main__":
    work, content = load.its_input()
    for seed, rate in enumerate(work["rates"]):
        outcome = run(work["port"], content, rate, seconds_for(rate), seed)
        print(json.dumps(asdict(outcome)), flush=True)
