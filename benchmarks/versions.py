"""An earlier version beside this one in one run: requests, solves, and whether schedules are equal.

Both get the same requests or problems in turns. Times are processor times: they count what a
process takes in the kernel, and not what it waits, so that other work on the machine disturbs them
less.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from statistics import mean
from typing import Any

import numpy as np
import psutil
from rich.console import Console
from rich.progress import Progress, track
from rich.table import Table

from airsched_client.federated.statistics import mean_difference
from app.scheduling import Problem, Scheduler, schedulers_of
from benchmarks import load
from benchmarks.service import JSON, MSGPACK, schedule_body
from lab.checkouts import BEFORE, NOW, checkouts
from lab.problems import ChannelModel, problems_of, random_irs_problem, random_problem
from lab.service import Running, running_command
from lab.versions import ratio, solve_in_turns, solvers

REQUESTS = [
    ("matching_pursuit", 6, 20, JSON),
    ("matching_pursuit", 6, 20, MSGPACK),
    ("matching_pursuit", 16, 100, MSGPACK),
    ("dual_pursuit", 6, 20, MSGPACK),
]
REQUEST_TURNS, REQUEST_SECONDS = 10, 2.0

# algorithm, channels, antennas, devices, γ in dB, number of problems
SOLVES: list[tuple[str, ChannelModel, int, int, float, int]] = [
    ("matching_pursuit", "iid", 6, 20, 0, 200),
    ("matching_pursuit", "iid", 16, 100, 0, 40),
    ("matching_pursuit", "iid", 64, 1000, 3, 2),
    *(("dual_pursuit", "iid", 6, 20, gamma_db, 100) for gamma_db in (-4.0, -1.0, 2.0)),
    *(("dual_pursuit", "iid", 16, 100, gamma_db, 40) for gamma_db in (-4.0, -1.0, 2.0, 5.0)),
    *(("dual_pursuit", "network", 16, 100, gamma_db, 40) for gamma_db in (0.0, 10.0, 20.0)),
    ("dual_pursuit", "iid", 64, 1000, 3, 2),
]
SOLVE_TURNS, SEED = 6, 20

SAME_PROBLEMS, SAME_SECONDS = 1000, 120.0
"""Random problems per algorithm, and the time after which a slow one gets no more."""
SAME_CHUNK = 50
EQUAL = "equal"


@contextmanager
def services(revision: str) -> Iterator[dict[str, Running]]:
    """Run both versions as an operator starts them."""
    with checkouts(revision) as folders, ExitStack() as stack:
        yield {
            version: stack.enter_context(running_command(folder=folder, log_level="warning"))
            for version, folder in folders.items()
        }


def compare_requests(revision: str) -> None:
    """Print the microseconds of processor time that a request costs each service."""
    table = Table(
        "algorithm",
        "K / N",
        "encoding",
        f"{revision} [µs]",
        "now [µs]",
        "now over before",
        title=f"processor time per request, {REQUEST_TURNS} turns of {REQUEST_SECONDS:g} s",
    )
    with services(revision) as running:
        spent: dict[tuple[Any, ...], list[float]] = {}
        turns = [
            (c, version) for _ in range(REQUEST_TURNS) for c in REQUESTS for version in running
        ]
        for case, version in track(turns, "versions", transient=True):
            taken = _request_microseconds(running[version], *case)
            spent.setdefault((*case, version), []).append(taken)
    for case in REQUESTS:
        algorithm, antennas, devices, media_type = case
        before, now = spent[*case, BEFORE], spent[*case, NOW]
        table.add_row(
            algorithm,
            f"{devices} / {antennas}",
            media_type.removeprefix("application/"),
            f"{mean(before):.0f}",
            f"{mean(now):.0f}",
            ratio(now, before),
        )
    Console(width=120).print(table)


def _request_microseconds(
    running: Running, algorithm: str, antennas: int, devices: int, media_type: str
) -> float:
    body = schedule_body(antennas, devices, media_type, algorithm=algorithm)
    process = psutil.Process(running[0].pid)
    before = process.cpu_times()
    outcome = load.post(running[1], "/schedule", body, media_type, seconds=REQUEST_SECONDS)
    after = process.cpu_times()
    seconds = float(after.user + after.system - before.user - before.system)
    return seconds / outcome.requests * 1e6


def compare_solves(revision: str) -> None:
    """Print the milliseconds of a solve, and the devices served, by each version."""
    table = Table(
        "algorithm",
        "channels",
        "K / N",
        "γ [dB]",
        f"{revision}: ms, |S|",
        "now: ms, |S|",
        "before over now",
        "|S| now − before",
        title=f"processor time of a solve, {SOLVE_TURNS} turns",
    )
    with solvers(revision) as ask:
        for algorithm, model, antennas, devices, gamma_db, count in track(
            SOLVES, "versions", transient=True
        ):
            problems = problems_of(model, count, antennas, devices, gamma_db, SEED)
            seconds, schedules = solve_in_turns(ask, algorithm, problems, SOLVE_TURNS)
            sizes = {name: [each["active"].size for each in of] for name, of in schedules.items()}
            table.add_row(
                algorithm,
                model,
                f"{devices} / {antennas}",
                f"{gamma_db:g}",
                *(
                    f"{1e3 * mean(seconds[name]):.3g}, {mean(sizes[name]):.2f}"
                    for name in (BEFORE, NOW)
                ),
                ratio(seconds[BEFORE], seconds[NOW]),
                mean_difference(sizes[NOW], sizes[BEFORE]).text(sign=True),
            )
    Console(width=130).print(table)


def compare_schedules(revision: str) -> None:
    """Print for how many random problems both versions give the same schedule, bit for bit.

    Problems go through all variants of an algorithm's parameters, with and without polishing and
    MMSE; where an algorithm takes priorities, half of its problems have them.
    """
    table = Table(
        "algorithm",
        "problems",
        "equal",
        "other bits",
        "other set: larger, as large, smaller",
        "error: before, now",
        title=f"schedules of {revision} and of this version",
    )
    differences = []
    with solvers(revision) as ask, Progress(transient=True) as progress:
        for make, kind in ((random_problem, ""), (random_irs_problem, " with a surface")):
            rng = np.random.default_rng(SEED)
            for name, scheduler in schedulers_of(make(rng)).items():
                bar = progress.add_task(name + kind, total=SAME_PROBLEMS)
                counts: Counter[str] = Counter()
                over = time.monotonic() + SAME_SECONDS
                while counts.total() < SAME_PROBLEMS and time.monotonic() < over:
                    problems = _random_problems(rng, make, scheduler)
                    answers = [ask[version](name, problems, True) for version in (BEFORE, NOW)]
                    for (_, before), (_, now) in zip(*answers, strict=True):
                        found = _difference(before, now)
                        counts[found] += 1
                        if found != EQUAL:
                            differences.append(f"{name}{kind}: {found}{_fields_apart(before, now)}")
                    progress.update(bar, completed=counts.total())
                progress.remove_task(bar)
                progress.print(f"{name}{kind}: {counts[EQUAL]} of {counts.total()} are equal")
                sets = (str(counts[f"set {word}"]) for word in ("larger", "as large", "smaller"))
                errors = (str(counts[f"error {word}"]) for word in (BEFORE, NOW))
                row = map(str, (counts.total(), counts[EQUAL], counts["bits"]))
                table.add_row(name + kind, *row, ", ".join(sets), ", ".join(errors))
    console = Console(width=130)
    console.print(table)
    for words, count in Counter(differences).items():
        console.print(f"{count} × {words}", highlight=False)


def _random_problems(
    rng: np.random.Generator, make: Callable[..., Any], scheduler: Scheduler
) -> list[Any]:
    problems = [make(rng, scheduler.max_devices) for _ in range(SAME_CHUNK)]
    # Earlier versions take none with a surface.
    if scheduler.takes_priorities and isinstance(problems[0], Problem):
        for index in range(0, SAME_CHUNK, 2):
            priorities = 10 ** rng.uniform(0, 2, problems[index].devices)
            problems[index] = replace(problems[index], priorities=priorities)
    return problems


def _fields_apart(before: dict[str, Any], now: dict[str, Any]) -> str:
    """Return in which fields two schedules with one set differ, and how far for numbers."""
    if "error" in before or "error" in now or not np.array_equal(before["active"], now["active"]):
        return ""
    words = ""
    for name in before:
        one, other = np.asarray(before[name]), np.asarray(now[name])
        if one.tobytes() != other.tobytes():
            words += f", {name}"
            if one.shape == other.shape and one.dtype.kind in "fc":
                apart = np.abs(one - other).max() / np.abs(one).max()
                words += f" below 1e{np.ceil(np.log10(apart)):.0f}" if apart > 0 else ""
    return words


def _difference(before: dict[str, Any], now: dict[str, Any]) -> str:
    """Say in what two schedules differ, or errors."""
    if "error" in before or "error" in now:
        if before == now:
            return EQUAL
        return f"error {NOW}" if "error" in now else f"error {BEFORE}"
    gained = now["active"].size - before["active"].size
    if not np.array_equal(before["active"], now["active"]):
        return f"set {'larger' if gained > 0 else 'smaller' if gained else 'as large'}"
    pairs = ((np.asarray(before[name]), np.asarray(now[name])) for name in before)
    return EQUAL if all(one.tobytes() == other.tobytes() for one, other in pairs) else "bits"
