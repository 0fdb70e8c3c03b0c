"""What a light client notices of a heavy one: latency alone, and beside it.

The heavy client sends large rounds on six connections (:func:`hogging`), or floods the service with
small ones on 32. The light client asks from an address of its own, one request at a time with a
pause after each. The heavy one runs in a separate process with a low priority (nice), so that it
takes little processor time from the service.
"""

import multiprocessing
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager

import httpx
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks import load
from benchmarks.service import MSGPACK, schedule_body
from lab.attacks import BYSTANDER, hogging
from lab.service import running_command

ROUNDS = 3
SECONDS = 4.0
PAUSE_SECONDS = 0.01
FLOOD_CONNECTIONS = 32


def flooding(address: str) -> Counter[int | str]:
    """Keep many connections busy with matching pursuit at 20 / 6, from another process."""
    body = schedule_body(6, 20, MSGPACK)
    outcome = load.post(
        address, "/schedule", body, MSGPACK, connections=FLOOD_CONNECTIONS, seconds=SECONDS
    )
    return Counter({200: outcome.requests})


CASES = (
    ("matching_pursuit", 6, 20, hogging),
    ("dual_pursuit", 6, 20, hogging),
    ("dual_pursuit", 16, 100, hogging),
    ("matching_pursuit", 6, 20, flooding),
)


def main() -> None:
    table = Table(
        "light client",
        "K / N",
        "alone: median, p95 [ms]",
        "beside: median, p95 [ms]",
        "p95 over alone",
        "refused",
        "heavy client",
        title=f"a light client beside a heavy one, {ROUNDS} rounds",
    )
    for algorithm, antennas, devices, abuse in track(CASES, "fairness", transient=True):
        body = schedule_body(antennas, devices, MSGPACK, algorithm=algorithm)
        alone, beside, refused, heavy = [], [], 0, Counter[int | str]()
        with running_command() as (_, address):
            for _ in range(ROUNDS):
                latencies, failed = _ask(address, body, SECONDS / 2)
                alone += latencies
                refused += failed
                with _heavy(abuse, address) as statuses:
                    latencies, failed = _ask(address, body, SECONDS - 1)
                beside += latencies
                refused += failed
                heavy += statuses.result()
        table.add_row(
            algorithm,
            f"{devices} / {antennas}",
            f"{np.median(alone):.2f}, {np.percentile(alone, 95):.2f}",
            f"{np.median(beside):.2f}, {np.percentile(beside, 95):.2f}",
            f"{np.percentile(beside, 95) / np.percentile(alone, 95):.1f}×",
            f"{refused} of {len(alone) + len(beside)}",
            f"{abuse.__name__}: "
            + ", ".join(f"{count} × {status}" for status, count in heavy.items()),
        )
    Console(width=120).print(table)


@contextmanager
def _heavy(
    abuse: Callable[[str], Counter[int | str]], address: str
) -> Iterator[Future[Counter[int | str]]]:
    """Run the heavy client in a process, and wait until it has ended by itself."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, spawn, os.nice, (19,)) as pool:
        # Started, and its modules loaded.
        pool.submit(os.getpid).result()
        statuses = pool.submit(abuse, address)
        time.sleep(0.5)
        yield statuses


def _ask(address: str, body: bytes, seconds: float) -> tuple[list[float], int]:
    """Return the milliseconds of every answer, and how many were not 200."""
    latencies, failed, over = [], 0, time.monotonic() + seconds
    transport = httpx.HTTPTransport(local_address=BYSTANDER)
    with httpx.Client(base_url=address, timeout=60, transport=transport) as client:
        while time.monotonic() < over:
            started = time.perf_counter()
            answer = client.post("/schedule", content=body, headers={"Content-Type": MSGPACK})
            latencies.append((time.perf_counter() - started) * 1e3)
            failed += answer.status_code != 200
            time.sleep(PAUSE_SECONDS)
    return latencies, failed
