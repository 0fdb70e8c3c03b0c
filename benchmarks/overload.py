"""Ten times more requests than the service can solve: who is let in, and how the others fare.

Dual pursuit with 100 starts, K = 20, N = 6. Requests come at fixed times, whether or not the
earlier ones have been answered, from a process of its own: ``python -m benchmarks.overload`` reads
its work as JSON and prints the latencies as JSON.
"""

import asyncio
import json
import time
from typing import cast

import numpy as np
import uvloop
from rich.console import Console
from rich.table import Table

from benchmarks import load
from benchmarks.service import MSGPACK, running_server, schedule_body

SECONDS = 10.0
CONNECTIONS = 400


def main() -> None:
    algorithm = {"name": "dual_pursuit", "starts": 100}
    body = schedule_body(6, 20, MSGPACK, algorithm=algorithm)
    table = Table(
        "offered [1/s]",
        "of capacity",
        "solved [1/s]",
        "refused [1/s]",
        "solved: median, p99 [ms]",
        "over unloaded p99",
        "refused: median, p99 [ms]",
        title=f"overload, dual pursuit with 100 starts, K = 20, N = 6, {SECONDS:g} s each",
    )
    with running_server() as client:
        port = client.base_url.port or 80
        capacity = load.post(port, "/schedule", body, MSGPACK, connections=4, seconds=4)
        rate = capacity.requests_per_second
        unloaded = None
        for share in (0.1, 1.0, 10.0):
            answers = _post(port, body, rate * share)
            solved, refused = (
                np.array([seconds * 1e3 for status, seconds in answers if status == wanted])
                for wanted in (200, 503)
            )
            assert len(solved) + len(refused) == len(answers), {status for status, _ in answers}
            p99 = float(np.percentile(solved, 99))
            unloaded = unloaded or p99
            table.add_row(
                f"{rate * share:.0f}",
                f"{share:g}×",
                f"{len(solved) / SECONDS:.0f}",
                f"{len(refused) / SECONDS:.0f}",
                f"{np.median(solved):.1f}, {p99:.1f}",
                f"{p99 / unloaded:.1f}",
                f"{np.median(refused):.1f}, {np.percentile(refused, 99):.1f}"
                if len(refused)
                else "",
            )
    Console(width=120).print(table)


def _post(port: int, body: bytes, rate: float) -> list[tuple[int, float]]:
    """Return the status and latency of every request, offered at ``rate`` a second."""
    content = load.request("/schedule", body, MSGPACK)
    work = {"port": port, "rate": rate}
    answers = load.in_a_process("benchmarks.overload", work, content, SECONDS)
    return [(int(status), float(seconds)) for status, seconds in answers]


class _Connection(asyncio.Protocol):
    """Sends one request at a time, and puts itself back among the free ones when answered."""

    def __init__(self, free: "list[_Connection]", answers: list[tuple[int, float]]) -> None:
        self._free, self._answers = free, answers
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._free.append(self)

    def send(self, request: bytes) -> None:
        self._sent = time.perf_counter()
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, separator, body = self._buffer.partition(b"\r\n\r\n")
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        if separator and len(body) >= int(length):
            self._answers.append((int(head[9:12]), time.perf_counter() - self._sent))
            self._buffer = b""
            self._free.append(self)


async def _offer(port: int, request: bytes, rate: float) -> list[tuple[int, float]]:
    loop = asyncio.get_running_loop()
    free: list[_Connection] = []
    answers: list[tuple[int, float]] = []
    for _ in range(CONNECTIONS):
        await loop.create_connection(lambda: _Connection(free, answers), "127.0.0.1", port)
    started, sent = time.perf_counter(), 0
    while (elapsed := time.perf_counter() - started) < SECONDS:
        while sent < elapsed * rate:
            if not free:
                raise RuntimeError(f"all of {CONNECTIONS} connections wait for an answer")
            # The one used last: the server closes those that have long been idle.
            free.pop().send(request)
            sent += 1
        # Not less: uvloop counts in milliseconds, and would spin.
        await asyncio.sleep(0.002)
    while len(answers) < sent:
        await asyncio.sleep(0.01)
    return answers


if __name__ == "__main__":
    work, content = load.its_input()
    print(json.dumps(uvloop.run(_offer(work["port"], content, work["rate"]))))
