"""Ten times more requests than the service can solve: who is let in, and how the others fare.

Dual pursuit with 100 starts, K = 20, N = 6. Requests come at fixed times, whether or not the
earlier ones have been answered. The service runs on one core and the generator on another: what
sending takes is not the service's.
"""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from statistics import median

import httpx
import numpy as np
import psutil
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks import load
from benchmarks.generator import Outcome
from benchmarks.service import MSGPACK, running_server, schedule_body

SECONDS = 5.0
RUNS = 5
CONNECTIONS = 800
REQUESTS, TURNS = 250, 6
"""Requests of each kind per turn, and turns, to compare what they cost."""


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
            rate = load.post(
                client.base_url, "/schedule", body, MSGPACK, connections=1, seconds=4, cores=cores
            ).requests_per_second
            content = load.request("/schedule", body, MSGPACK)
            unloaded = 0.0
            for share in (0.1, 10.0):
                due = np.arange(0, SECONDS, 1 / (rate * share)).tolist()
                seen = load.offer(
                    client.base_url,
                    content,
                    due,
                    SECONDS,
                    connections=CONNECTIONS,
                    statuses=(200, 503),
                    cores=cores,
                )
                refused, accepted = len(seen.latencies["503"]), seen.percentile(99)
                unloaded = unloaded or accepted
                table.add_row(
                    str(run + 1),
                    f"{rate * share:.0f}",
                    f"{share:g}×",
                    f"{(seen.requests - refused) / SECONDS:.0f}",
                    f"{refused / SECONDS:.0f}",
                    _milliseconds(seen, 200),
                    f"{accepted / unloaded:.1f}",
                    _milliseconds(seen, 503) if refused else "",
                )
            ratios.append(accepted / unloaded)
    console = Console(width=120)
    console.print(table)
    console.print(f"accepted p99 at 10× over unloaded: median of {RUNS} runs {median(ratios):.2f}")
    _refusing(console)


def _milliseconds(seen: Outcome, status: int) -> str:
    return ", ".join(f"{1e3 * seen.percentile(share, status):.1f}" for share in (50, 99))


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
        for _ in range(2):
            pool.submit(
                httpx.post,
                client.base_url.join("/schedule"),
                content=long,
                headers=headers,
                timeout=60,
            )
        give_up = time.monotonic() + 20
        while 'airsched_queue_length{lane="thread"} 1.0' not in client.get("/metrics").text:
            assert time.monotonic() < give_up, "the long solves do not fill the queue"
            time.sleep(0.05)
        answering = refusing = 0.0
        for _ in range(TURNS):
            answering += _loop_seconds(client, pid, small, 200)
            refusing += _loop_seconds(client, pid, waiting, 503)
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
