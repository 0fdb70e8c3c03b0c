"""``make load``: throughput and latency by algorithm, size and number of clients.

Starts the service on a free port, on one processor core; the clients, Locust's, have the others.
Each client is one connection that asks again as soon as it is answered: the throughput grows with
their number up to what a core serves, and beyond that knee only the latency does. The schedules for
each second of processor time that the service took tell what a core serves even where others use
the machine too.

Draws ``benchmarks/load.png``.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np
import psutil
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.load_test.cases import CASES
from benchmarks.service import MSGPACK
from lab.service import running_command

CLIENTS = (1, 2, 4, 8, 16, 32)
ROUNDS = 2
SATURATED = 0.9
"""A generator this busy limits what it measures."""

PICTURE = Path(__file__).parents[1] / "load.png"
COLORS = {
    "matching_pursuit 20/6": "black",
    "matching_pursuit 100/16": "tab:gray",
    "dual_pursuit 20/6": "tab:red",
    "dual_pursuit 100/16": "tab:orange",
    "dc 20/6": "tab:blue",
}


@dataclass(frozen=True)
class Outcome:
    """What one run saw; latencies in seconds.

    Parameters
    ----------
    rate
        Schedules a second.
    core_rate
        Schedules for each second of processor time of the service.
    generator_load
        Share of the time in which the clients' process was busy.
    """

    rate: float
    core_rate: float
    median: float
    percentile_95: float
    percentile_99: float
    refused: int
    generator_load: float


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load_test", description=__doc__)
    parser.add_argument("--seconds", type=int, default=4, help="of each run (%(default)s)")
    seconds = parser.parse_args().seconds
    cores = sorted(os.sched_getaffinity(0))
    service, others = {cores[0]}, set(cores[1:]) or {cores[0]}
    runs = [(name, clients) for name in CASES for clients in CLIENTS]
    outcomes: dict[tuple[str, int], Outcome] = {}
    with running_command(cores=service, solver_workers=1) as (process, address):
        # Once, so that the solver process is there.
        body, headers = CASES["dc 20/6"].body(), {"Content-Type": MSGPACK}
        httpx.post(f"{address}/schedule", content=body, headers=headers, timeout=60)
        # In turn, and the better of the rounds: what else the machine does only takes away.
        for name, clients in track(runs * ROUNDS, "load", transient=True):
            outcome = _run(process.pid, address, name, clients, seconds, others)
            best = outcomes.setdefault((name, clients), outcome)
            outcomes[name, clients] = max(best, outcome, key=lambda seen: seen.rate)
    _print(outcomes, len(cores))
    _draw(outcomes)
    print(f"drew benchmarks/{PICTURE.name}")


def _run(
    service: int, address: str, case: str, clients: int, seconds: int, cores: set[int]
) -> Outcome:
    """Run Locust in a process of its own."""
    used = _processor_seconds(service)
    with tempfile.TemporaryDirectory() as folder:
        outcome = Path(folder) / "outcome.json"
        options = {
            "--locustfile": Path(__file__).parent / "locustfile.py",
            "--host": address,
            "--users": clients,
            "--spawn-rate": clients,
            "--run-time": f"{seconds}s",
        }
        flags = [str(word) for option in options.items() for word in option]
        process = subprocess.Popen(
            [sys.executable, "-m", "locust", "--headless", "--only-summary", "--skip-log", *flags],
            env=os.environ | {"LOAD_CASE": case, "LOAD_OUTCOME": str(outcome)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        os.sched_setaffinity(process.pid, cores)
        _, words = process.communicate(timeout=seconds + 60)
        if not outcome.exists():
            raise RuntimeError(f"Locust wrote no outcome:\n{words.decode()}")
        seen = json.loads(outcome.read_text())
    latencies = np.array(seen["seconds"])
    if latencies.size == 0:
        raise RuntimeError(f"no request of {case} was answered:\n{words.decode()}")
    median, p95, p99 = np.percentile(latencies, [50, 95, 99]).tolist()
    return Outcome(
        rate=latencies.size / seen["elapsed"],
        core_rate=latencies.size / (_processor_seconds(service) - used),
        median=median,
        percentile_95=p95,
        percentile_99=p99,
        refused=seen["refused"],
        generator_load=seen["generator_load"],
    )


def _processor_seconds(service: int) -> float:
    """Return what the service and its solver processes have used so far."""
    root = psutil.Process(service)
    times = [process.cpu_times() for process in (root, *root.children(recursive=True))]
    # With that of solver processes that have ended.
    return float(sum(sum(item[:4]) for item in times))


def _print(outcomes: dict[tuple[str, int], Outcome], cores: int) -> None:
    table = Table(
        "algorithm K/N",
        "clients",
        "schedules [1/s]",
        "per core second",
        "median [ms]",
        "95 % [ms]",
        "99 % [ms]",
        "refused",
        title=f"the service on one core of {cores}, the better of {ROUNDS} runs",
    )
    limited = False
    for (name, clients), outcome in outcomes.items():
        saturated = outcome.generator_load > SATURATED
        limited |= saturated
        table.add_row(
            name if clients == CLIENTS[0] else "",
            str(clients),
            f"{'≥ ' if saturated else ''}{outcome.rate:.0f}",
            f"{outcome.core_rate:.0f}",
            *(
                f"{1e3 * value:.3g}"
                for value in (outcome.median, outcome.percentile_95, outcome.percentile_99)
            ),
            str(outcome.refused),
            end_section=clients == CLIENTS[-1],
        )
    Console(width=110).print(table)
    if limited:
        print("≥: the clients' own core was busy all the time; the service could do more")


def _draw(outcomes: dict[tuple[str, int], Outcome]) -> None:
    figure = Figure(figsize=(10, 4.4), layout="constrained")
    rates, latencies = figure.subplots(1, 2)
    for name, color in COLORS.items():
        seen = [outcomes[name, clients] for clients in CLIENTS]
        label = name.replace("_", " ")
        rates.plot(CLIENTS, [item.rate for item in seen], "o-", color=color, label=label)
        latencies.plot(CLIENTS, [1e3 * item.median for item in seen], "o-", color=color)
        latencies.plot(
            CLIENTS, [1e3 * item.percentile_99 for item in seen], "--", color=color, alpha=0.6
        )
    rates.set_ylabel("schedules per second")
    latencies.set_ylabel("latency [ms]: median solid, 99 % dashed")
    for axes in (rates, latencies):
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xticks(CLIENTS, [str(clients) for clients in CLIENTS])
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.set_xlabel("clients at once")
        axes.grid(alpha=0.3)
    figure.legend(*rates.get_legend_handles_labels(), loc="outside lower center", ncols=5)
    figure.savefig(PICTURE, dpi=120)


if __name__ == "__main__":
    main()
