"""What a request costs the service, beside an earlier revision: processor time, in turns.

Both versions run as an operator starts them, and get the same bytes from four connections. The time
of a process counts what it takes in the kernel, and not what it waits: other work on the machine
disturbs it less than the rate of answers.
"""

from contextlib import ExitStack
from statistics import mean, stdev

import psutil
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks import load
from benchmarks.service import JSON, MSGPACK, schedule_body
from lab.checkouts import BEFORE, NOW, checkouts
from lab.service import running_command

CASES = [
    ("matching_pursuit", 6, 20, JSON),
    ("matching_pursuit", 6, 20, MSGPACK),
    ("matching_pursuit", 16, 100, MSGPACK),
    ("dual_pursuit", 6, 20, MSGPACK),
]
ROUNDS = 10
SECONDS = 2.0


def compare(revision: str) -> None:
    """Print the microseconds of a request in ``revision`` and now."""
    table = Table(
        "algorithm",
        "K / N",
        "encoding",
        f"{revision} [µs]",
        "now [µs]",
        "now over before",
        title=f"processor time of the service per request, {ROUNDS} turns of {SECONDS:g} s",
    )
    with checkouts(revision) as folders, ExitStack() as stack:
        running = {
            version: stack.enter_context(running_command(folder=folder, log_level="warning"))
            for version, folder in folders.items()
        }
        spent: dict[tuple[int, str], list[float]] = {}
        turns = [(case, version) for _ in range(ROUNDS) for case in CASES for version in running]
        for case, version in track(turns, "versions", transient=True):
            process, address = running[version]
            spent.setdefault((CASES.index(case), version), []).append(
                _microseconds(process.pid, int(address.rsplit(":", 1)[1]), case)
            )
    for index, (algorithm, antennas, devices, media_type) in enumerate(CASES):
        before, now = spent[index, BEFORE], spent[index, NOW]
        ratios = [one / other for one, other in zip(now, before, strict=True)]
        table.add_row(
            algorithm,
            f"{devices} / {antennas}",
            media_type.removeprefix("application/"),
            f"{mean(before):.0f}",
            f"{mean(now):.0f}",
            f"{mean(ratios):.3f} ± {stdev(ratios) / len(ratios) ** 0.5:.3f}",
        )
    Console(width=120).print(table)


def _microseconds(pid: int, port: int, case: tuple[str, int, int, str]) -> float:
    algorithm, antennas, devices, media_type = case
    body = schedule_body(antennas, devices, media_type, algorithm=algorithm)
    process = psutil.Process(pid)
    before = process.cpu_times()
    outcome = load.post(port, "/schedule", body, media_type, seconds=SECONDS)
    after = process.cpu_times()
    seconds = float(after.user + after.system - before.user - before.system)
    return seconds / outcome.requests * 1e6
