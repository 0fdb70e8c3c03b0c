"""A small HTTP/1.1 load generator: keep-alive connections that send the same bytes over and over.

It runs in a process of its own and does as little as it can, so that the server is what is
measured. ``python -m benchmarks.load`` reads its work as JSON and prints the outcome as JSON.
"""

import asyncio
import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from functools import partial
from statistics import median
from typing import Any, cast

import uvloop


@dataclass(frozen=True)
class Outcome:
    """What a run saw."""

    requests_per_second: float
    median_seconds: float
    p95_seconds: float


class _Connection(asyncio.Protocol):
    def __init__(self, request: bytes, until: float, done: asyncio.Future[list[float]]) -> None:
        self._request, self._until, self._done = request, until, done
        self._buffer = b""
        self._latencies: list[float] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._send()

    def _send(self) -> None:
        self._sent = time.perf_counter()
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, separator, body = self._buffer.partition(b"\r\n\r\n")
        if not separator:
            return
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        if len(body) < int(length):
            return
        now = time.perf_counter()
        if not head.startswith(b"HTTP/1.1 200"):
            self._done.set_exception(RuntimeError(f"{head.decode()} {body[:500].decode()}"))
            self._transport.close()
            return
        self._latencies.append(now - self._sent)
        self._buffer = b""
        if now < self._until:
            self._send()
        else:
            self._transport.close()
            self._done.set_result(self._latencies)


async def _generate(port: int, request: bytes, connections: int, seconds: float) -> Outcome:
    loop = asyncio.get_running_loop()
    started = time.perf_counter()
    finished: list[asyncio.Future[list[float]]] = [loop.create_future() for _ in range(connections)]
    for done in finished:
        connection = partial(_Connection, request, started + seconds, done)
        await loop.create_connection(connection, "127.0.0.1", port)
    latencies = [value for done in finished for value in await done]
    latencies.sort()
    return Outcome(
        len(latencies) / (time.perf_counter() - started),
        median(latencies),
        latencies[int(0.95 * len(latencies))],
    )


def request(path: str, body: bytes, media_type: str) -> bytes:
    """Return the bytes of a POST."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {media_type}\r\n"
        f"Accept: {media_type}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def in_a_process(module: str, work: dict[str, float], request: bytes, seconds: float) -> Any:
    """Run ``module`` with ``work`` and ``request`` as its input, and return what it prints."""
    result = subprocess.run(
        [sys.executable, "-m", module],
        input=json.dumps(work).encode() + b"\n" + request,
        stdout=subprocess.PIPE,
        check=True,
        timeout=seconds + 120,
    )
    return json.loads(result.stdout)


def its_input() -> tuple[dict[str, Any], bytes]:
    """Return the work and the request that :func:`in_a_process` gave this process."""
    return json.loads(sys.stdin.buffer.readline()), sys.stdin.buffer.read()


def post(
    port: int, path: str, body: bytes, media_type: str, *, connections: int = 4, seconds: float = 2
) -> Outcome:
    """Post ``body`` to 127.0.0.1 from a process of its own, for a number of seconds."""
    work = {"port": port, "connections": connections, "seconds": seconds}
    content = request(path, body, media_type)
    return Outcome(**in_a_process("benchmarks.load", work, content, seconds))


if __name__ == "__main__":
    work, content = its_input()
    outcome = uvloop.run(_generate(work["port"], content, work["connections"], work["seconds"]))
    print(json.dumps(asdict(outcome)))
