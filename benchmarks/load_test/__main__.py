"""``make load``: latency under open load, by algorithm, size and encoding.

Starts the service on one processor core and the generator on another. For each case it measures
what the core can serve (its capacity), with as many requests in progress as it takes. Then
requests arrive at random, as a Poisson process, at shares of that. Latency counts from the moment
at which a request arrives, so that a late answer delays what comes behind it, as in operation. The
queues are made long, so that nothing is refused and the wait can be seen.

Writes ``benchmarks/load.md`` and ``benchmarks/load.png``, unless the machine has other work.
"""

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil

from benchmarks import load
from benchmarks.generator import Outcome, arrivals
from benchmarks.load_test.cases import CASES, Case
from benchmarks.load_test.report import Capacity, Measured, draw, percentiles, table
from lab.service import running_command

CAPACITY_SECONDS = 2.0
CAPACITY_CONNECTIONS = 32
CONNECTIONS = 128
SHORTEST_SECONDS = 3.0
"""Least length of a run."""
POINTS = sum(len(case.shares) for case in CASES)
BUSY = 0.05
"""If others use more of the machine than this share, nothing committed is overwritten."""

FOLDER = Path(__file__).parents[1]
LONG_QUEUES: dict[str, Any] = {
    "queue_length": 10_000,
    "max_concurrency": 10_000,
    "client_share": 1.0,
}


def main() -> None:
    arguments = _parse()
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        sys.exit("the load test needs two cores: one for the service, one for the generator")
    output: Path = arguments.output or FOLDER
    used = psutil.cpu_percent(1.0) / 100
    if arguments.output is None and used > BUSY:
        sys.exit(_busy(used))
    print(f"{POINTS} points, about 15 minutes", flush=True)
    watch = _Watch()
    measured: Measured = {}
    with running_command(cores={cores[0]}, solver_workers=1, **LONG_QUEUES) as (process, address):
        for case in CASES:
            done = sum(len(outcomes) for _, outcomes in measured.values())
            measured[case] = _measure(case, process.pid, address, {cores[1]}, done)
        others = watch.others()
    if arguments.output is None and others > BUSY:
        output = FOLDER.parent / "build"
        print(_busy(others), file=sys.stderr)
    output.mkdir(parents=True, exist_ok=True)
    note = f"Others used {others:.0%} of the machine's {os.cpu_count()} cores meanwhile."
    (output / "load.md").write_text(table(measured, note))
    draw(measured, output / "load.png")
    print(f"{note} Wrote load.md and load.png to {output}")


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load_test", description=__doc__)
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FOLDER",
        help="where to write the table and the picture, however busy the machine is",
    )
    return parser.parse_args()


def _busy(share: float) -> str:
    return (
        f"other work uses {share:.0%} of this machine, so the committed table and picture stay as "
        "they are; try again when it is quiet, or write elsewhere with --output build"
    )


def _measure(
    case: Case, service: int, address: str, cores: set[int], done: int
) -> tuple[Capacity, list[Outcome]]:
    """Measure capacity, then latency at each share of it, and say so line by line."""
    body = case.body()
    headers = {"Content-Type": case.media_type}
    # The first request starts the solver process.
    httpx.post(f"{address}/schedule", content=body, headers=headers, timeout=60)
    used = _processor_seconds(service)
    seen = load.post(
        address,
        "/schedule",
        body,
        case.media_type,
        connections=CAPACITY_CONNECTIONS,
        seconds=CAPACITY_SECONDS,
        cores=cores,
    )
    used = _processor_seconds(service) - used
    capacity = Capacity(seen.requests_per_second, seen.requests / used)
    name = f"{case.problem} {case.encoding}"
    print(
        f"{name}: {capacity.rate:.0f} per second, {capacity.core_rate:.0f} per core second",
        flush=True,
    )
    outcomes = []
    content = load.request("/schedule", body, case.media_type)
    for seed, share in enumerate(case.shares):
        rate = share * capacity.rate
        seconds = _seconds_for(rate)
        due = arrivals(np.random.default_rng(seed), rate, seconds)
        outcome = load.offer(address, content, due, seconds, connections=CONNECTIONS, cores=cores)
        outcomes.append(outcome)
        found = percentiles(outcome.latencies["200"])
        shown = " ".join("–" if p is None else f"{1e3 * p:.3g}" for p in found)
        print(
            f"{done + len(outcomes)} of {POINTS}: {name} at {share:g} of capacity: "
            f"{shown} ms, generator {outcome.busy:.0%} busy",
            flush=True,
        )
    return capacity, outcomes


def _seconds_for(rate: float) -> float:
    """Return how long to run at ``rate``: for the 99.9th percentile, or at least for the 99th."""
    for requests, longest in ((1100, 15.0), (110, 60.0)):
        if requests / rate <= longest:
            return max(SHORTEST_SECONDS, requests / rate)
    return longest


def _processor_seconds(process: int) -> float:
    """Return what a process and those that it started have used so far."""
    root = psutil.Process(process)
    times = [item.cpu_times() for item in (root, *root.children(recursive=True))]
    # The first four fields: user and system, its own and those of children that have ended.
    return float(sum(sum(item[:4]) for item in times))


class _Watch:
    """Measures how much of the machine others use, from the moment it is created."""

    def __init__(self) -> None:
        self._started, self._busy = time.perf_counter(), self._machine()
        self._own = _processor_seconds(os.getpid())

    @staticmethod
    def _machine() -> float:
        times = psutil.cpu_times()
        return float(sum(times) - times.idle - getattr(times, "iowait", 0.0))

    def others(self) -> float:
        """Return their share of all cores."""
        own = _processor_seconds(os.getpid()) - self._own
        seconds = (time.perf_counter() - self._started) * (os.cpu_count() or 1)
        return max(0.0, (self._machine() - self._busy - own) / seconds)


if __name__ == "__main__":
    main()
