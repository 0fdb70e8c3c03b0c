"""What slow solvers do to the fast path, and how their deadlines are kept.

Matching pursuit, K = 20, N = 6, one connection, over HTTP: alone, beside one CPU-bound process for
each core, and while two DC programmes run in the service.
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

import httpx
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks import load
from benchmarks.service import MSGPACK, running_server, schedule_body

HEADERS = {"Content-Type": MSGPACK}
ROUNDS = 5
DEADLINES = 100


def main() -> None:
    with running_server() as client:
        _latency(client)
        _deadlines(client)


def _latency(client: httpx.Client) -> None:
    body = schedule_body(6, 20, MSGPACK)
    places = {"alone": _nothing, "one busy process per core": _busy, "two dc requests": _two_dc}
    medians: dict[str, list[float]] = {name: [] for name in places}
    # Once, so that the solver processes are there.
    client.post("/schedule", content=schedule_body(6, 20, MSGPACK, algorithm="dc"), headers=HEADERS)
    for _ in track(range(ROUNDS), "isolation", transient=True):
        for name, place in places.items():
            with place(client.base_url):
                outcome = load.post(
                    client.base_url, "/schedule", body, MSGPACK, connections=1, seconds=1.5
                )
            medians[name].append(outcome.percentile(50) * 1e3)
    table = Table(
        "beside", "median [ms]", "over busy", title="matching pursuit, K = 20, N = 6, over HTTP"
    )
    busy = median(medians["one busy process per core"])
    for name, values in medians.items():
        table.add_row(name, f"{median(values):.2f}", f"{median(values) / busy:.2f}")
    Console().print(table)
    print("no request failed; each figure is the median of", ROUNDS, "interleaved runs")


@contextmanager
def _nothing(address: httpx.URL) -> Iterator[None]:
    yield


@contextmanager
def _busy(address: httpx.URL) -> Iterator[None]:
    command = [sys.executable, "-c", "while True: pass"]
    processes = [subprocess.Popen(command) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


@contextmanager
def _two_dc(address: httpx.URL) -> Iterator[None]:
    """Keep two DC programmes running in the service, and end them by going away."""
    body = schedule_body(8, 400, MSGPACK, algorithm="dc")
    connections = [socket.create_connection((address.host, address.port)) for _ in range(2)]
    for connection in connections:
        connection.sendall(load.request("/schedule", body, MSGPACK))
    yield
    for connection in connections:
        # None has been answered: both were running all the time.
        connection.setblocking(False)
        try:
            raise RuntimeError(f"a DC programme ended early: {connection.recv(1000).decode()}")
        except BlockingIOError:
            connection.close()


def _deadlines(client: httpx.Client) -> None:
    body = schedule_body(8, 400, MSGPACK, algorithm="dc", deadline_ms=50)
    late = []
    for _ in track(range(DEADLINES), "deadlines", transient=True):
        started = time.perf_counter()
        response = client.post("/schedule", content=body, headers=HEADERS)
        late.append(1e3 * (time.perf_counter() - started))
        assert response.status_code == 504, response.text
    print(
        f"dc, K = 400, deadline_ms = 50, {DEADLINES} in a row: all 504, "
        f"after {median(late):.0f} ms (median), {max(late):.0f} ms (latest)"
    )
