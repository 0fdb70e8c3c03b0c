"""Ten times more requests than the service can solve: who is let in, and how the others fare.

Dual pursuit with 100 starts, K = 20, N = 6. Requests come at fixed times, whether or not the
earlier ones have been answered, from a process of its own: ``python -m benchmarks.overload`` reads
its work as JSON and prints what it saw as JSON. The service runs on one core and this process on
another: what sending takes is not the service's.
"""

import asyncio
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Any, cast

import httpx
import numpy as np
import psutil
import uvloop
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks import load
from benchmarks.service import MSGPACK, running_server, schedule_body

SECONDS = 5.0
RUNS = 5
CONNECTIONS = 800
REQUESTS, TURNS = 250, 6
"""Of each kind in each turn, to compare what they cost."""


def main() -> None:
    algorithm = {"name": "dual_pursuit", "starts": 100}
    body = schedule_body(6, 20, MSGPACK, algorithm=algorithm)
    table = Table(
        "run",
        "offered [1/s]",
        "of capacity",
        "solved [1/s]",
        "refused [1/s]",
        "solved: median, p99 [ms]",
        "over unloaded p99",
        "refused: median, p99 [ms]",
        title=f"overload, dual pursuit with 100 starts, K = 20, N = 6, {SECONDS:g} s each",
    )
    ratios = []
    service_core, *others = sorted(os.sched_getaffinity(0))
    cores = set(others) or {service_core}
    for run in track(range(RUNS), "overload", transient=True):
        with running_server(cores={service_core}, solver_workers=1) as client:
            port = client.base_url.port or 80
            rate = load.post(
                port, "/schedule", body, MSGPACK, connections=1, seconds=4, cores=cores
            ).requests_per_second
            unloaded = 0.0
            for share in (0.1, 10.0):
                seen = _post(port, body, rate * share, cores)
                solved, refused = seen["200"], seen["503"]
                unloaded = unloaded or solved["p99"]
                table.add_row(
                    str(run + 1),
                    f"{rate * share:.0f}",
                    f"{share:g}×",
                    f"{solved['count'] / SECONDS:.0f}",
                    f"{refused['count'] / SECONDS:.0f}",
                    f"{solved['median']:.1f}, {solved['p99']:.1f}",
                    f"{solved['p99'] / unloaded:.1f}",
                    f"{refused['median']:.1f}, {refused['p99']:.1f}" if refused["count"] else "",
                )
            ratios.append(solved["p99"] / unloaded)
    console = Console(width=120)
    console.print(table)
    console.print(f"accepted p99 at 10× over unloaded: median of {RUNS} runs {median(ratios):.2f}")
    _refusing(console)


def _refusing(console: Console) -> None:
    """Compare what refusing costs the event loop's thread with what answering does.

    Both while the queue is full, in turns: the solve that runs slows both alike.
    """
    small = schedule_body(6, 20, MSGPACK)
    waiting = schedule_body(6, 20, MSGPACK, algorithm={"name": "dual_pursuit", "starts": 100})
    endless = {"name": "dual_pursuit", "starts": 10_000}
    # At a tolerance that serves some, but not all: the search has no early end.
    long = schedule_body(64, 1000, MSGPACK, algorithm=endless, gamma_db=-10, deadline_ms=25_000)
    headers = {"Content-Type": MSGPACK}
    with (
        running_server(solver_workers=1, queue_length=1) as client,
        ThreadPoolExecutor(2) as pool,
    ):
        pid = int(client.get("/pid").text)
        occupied = [
            pool.submit(
                httpx.post,
                f"http://127.0.0.1:{client.base_url.port}/schedule",
                content=long,
                headers=headers,
                timeout=60,
            )
            for _ in range(2)
        ]
        give_up = time.monotonic() + 20
        while 'airsched_queue_length{lane="thread"} 1.0' not in client.get("/metrics").text:
            assert time.monotonic() < give_up, "the long solves do not fill the queue"
            time.sleep(0.05)
        answering = refusing = 0.0
        for _ in range(TURNS):
            answering += _loop_seconds(client, pid, small, 200)
            refusing += _loop_seconds(client, pid, waiting, 503)
        for task in occupied:
            task.cancel()
    console.print(
        f"processor time of the event loop per request: answering matching pursuit 20/6 "
        f"{answering * 1e6 / TURNS:.0f} µs, refusing {refusing * 1e6 / TURNS:.0f} µs, "
        f"{refusing / answering:.2f} of it"
    )


def _loop_seconds(client: httpx.Client, pid: int, body: bytes, status: int) -> float:
    """Return the seconds of the service's main thread per request."""
    before = _main_thread_seconds(pid)
    for _ in range(REQUESTS):
        answer = client.post("/schedule", content=body, headers={"Content-Type": MSGPACK})
        assert answer.status_code == status, answer.text
    return (_main_thread_seconds(pid) - before) / REQUESTS


def _main_thread_seconds(pid: int) -> float:
    main = next(thread for thread in psutil.Process(pid).threads() if thread.id == pid)
    return float(main.user_time + main.system_time)


def _post(port: int, body: bytes, rate: float, cores: set[int]) -> dict[str, dict[str, float]]:
    """Offer ``rate`` requests per second; return what :func:`_summary` says."""
    content = load.request("/schedule", body, MSGPACK)
    work = {"port": port, "rate": rate, "cores": sorted(cores)}
    seen: dict[str, dict[str, float]] = load.in_a_process(
        "benchmarks.overload", work, content, SECONDS
    )
    return seen


def _summary(answers: list[tuple[int, float]]) -> dict[str, Any]:
    """Return how many were solved and refused, and their latencies in milliseconds, by status."""
    summary = {}
    for wanted in (200, 503):
        latencies = np.array([seconds * 1e3 for status, seconds in answers if status == wanted])
        middle, high = np.percentile(latencies, (50, 99)) if latencies.size else (0.0, 0.0)
        summary[str(wanted)] = {"count": latencies.size, "median": middle, "p99": high}
    counted = sum(each["count"] for each in summary.values())
    assert counted == len(answers), {status for status, _ in answers}
    return summary


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
        await asyncio.sleep(0.001)
    while len(answers) < sent:
        await asyncio.sleep(0.01)
    return answers


if __name__ == "__main__":
    work, content = load.its_input()
    print(json.dumps(_summary(uvloop.run(_offer(work["port"], content, work["rate"])))))
