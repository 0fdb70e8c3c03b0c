"""Inline against a thread: throughput, the time of others, and how long the loop is held."""

import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from statistics import median

import httpx
from rich.console import Console
from rich.progress import track
from rich.table import Table

from app.execution.executor import LOOP_SECONDS
from app.scheduling import SCHEDULERS, SolveSpec, solve_specified
from benchmarks import load
from benchmarks.service import MSGPACK, running_server, schedule_body, solve_milliseconds
from benchmarks.slowest import slowest
from lab.problems import iid_problems

CASES = [
    ("matching_pursuit", 6, 20),
    ("matching_pursuit", 8, 100),
    ("matching_pursuit", 16, 100),
    ("matching_pursuit", 256, 3),
    ("dual_pursuit", 6, 20),
    ("dual_pursuit", 16, 20),
    ("dual_pursuit", 16, 100),
]
ROUNDS = 3
PAUSE_SECONDS = 2e-3
SLOWEST_SECONDS = 15.0
THREAD, INLINE = 0.0, 1e9


def main() -> None:
    table = Table(
        "algorithm",
        "K / N",
        "longest, by estimate [ms]",
        "runs",
        "inline [1/s]",
        "thread [1/s]",
        "others' p95: inline, thread [ms]",
        "solve over kernel: inline, thread",
        "over kernel after a pause",
        title="inline against a thread, MessagePack, 4 connections",
    )
    # A queue that holds all connections: nobody is refused.
    with running_server(queue_length=16) as client:
        for algorithm, antennas, devices in track(CASES, "execution", transient=True):
            table.add_row(*_cells(client, algorithm, antennas, devices))
    console = Console(width=150)
    console.print(table)
    for algorithm in track(("matching_pursuit", "dual_pursuit"), "slowest", transient=True):
        count, longest, share = slowest(algorithm, SLOWEST_SECONDS, seed=0)
        console.print(
            f"{algorithm}: the slowest of {count} solves that run on the event loop takes "
            f"{longest:.2f} ms; at most {share:.2f} of its estimate"
        )


def _cells(client: httpx.Client, algorithm: str, antennas: int, devices: int) -> Iterable[str]:
    address = client.base_url
    body = schedule_body(antennas, devices, MSGPACK, algorithm=algorithm)
    tiny = schedule_body(2, 3, MSGPACK)
    rates: dict[float, list[float]] = {INLINE: [], THREAD: []}
    others: dict[float, list[float]] = {INLINE: [], THREAD: []}
    solves: dict[float, list[float]] = {INLINE: [], THREAD: []}
    kernel, rested = list[float](), list[float]()
    for _ in range(ROUNDS):
        for seconds in rates:
            client.post(f"/loop-limit?seconds={seconds}")
            with ThreadPoolExecutor(1) as pool:
                other = pool.submit(load.post, address, "/schedule", tiny, MSGPACK, connections=1)
                outcome = load.post(address, "/schedule", body, MSGPACK)
            rates[seconds].append(outcome.requests_per_second)
            others[seconds].append(other.result().percentile(95) * 1e3)
            solves[seconds] += [
                solve_milliseconds(
                    client.post("/schedule", content=body, headers={"Content-Type": MSGPACK})
                )
                for _ in range(50)
            ]
        kernel += _kernel_milliseconds(algorithm, antennas, devices)
        rested += _kernel_milliseconds(algorithm, antennas, devices, PAUSE_SECONDS)
    scheduler = SCHEDULERS[algorithm]
    longest = scheduler.longest_seconds(scheduler.parameters(), antennas, devices)
    return (
        algorithm,
        f"{devices} / {antennas}",
        f"{longest * 1e3:.2f}",
        "inline" if longest <= LOOP_SECONDS else "in a thread",
        f"{median(rates[INLINE]):.0f}",
        f"{median(rates[THREAD]):.0f}",
        ", ".join(f"{median(values):.2f}" for values in others.values()),
        *(
            ", ".join(f"{median(values) / median(alone):.2f}×" for values in solves.values())
            for alone in (kernel, rested)
        ),
    )


def _kernel_milliseconds(
    algorithm: str, antennas: int, devices: int, pause: float = 0.0
) -> list[float]:
    """Return the times of the same solve in this process, with a pause before each.

    Without one, everything is in the processor's caches, as it never is between two requests.
    """
    (problem,) = iid_problems(1, antennas, devices, gamma_db=0)
    scheduler, times = SCHEDULERS[algorithm], []
    for _ in range(50):
        time.sleep(pause)
        started = time.perf_counter()
        solve_specified(problem, SolveSpec(scheduler, scheduler.parameters()))
        times.append((time.perf_counter() - started) * 1e3)
    return times
