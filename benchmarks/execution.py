"""Inline against a thread hop: what sets ``app.execution.INLINE_ENTRIES``."""

from statistics import median

from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks import load
from benchmarks.service import MSGPACK, running_server, schedule_body

SIZES = [(6, 20), (8, 50), (8, 75), (8, 100), (16, 75), (16, 100), (16, 200)]
ROUNDS = 3


def main() -> None:
    table = Table(
        "K / N",
        "N·K",
        "inline [1/s]",
        "thread [1/s]",
        "inline over thread",
        "alone: inline [ms]",
        "alone: thread [ms]",
        title="inline against a thread hop, MessagePack, 4 connections",
    )
    with running_server() as client:
        port = client.base_url.port or 80
        for antennas, devices in track(SIZES, "execution", transient=True):
            body = schedule_body(antennas, devices, MSGPACK)
            rates: dict[int, list[float]] = {0: [], 10**9: []}
            alone: dict[int, list[float]] = {0: [], 10**9: []}
            for _ in range(ROUNDS):
                for entries in rates:
                    client.post(f"/inline-limit?entries={entries}")
                    outcome = load.post(port, "/schedule", body, MSGPACK)
                    rates[entries].append(outcome.requests_per_second)
                    single = load.post(port, "/schedule", body, MSGPACK, connections=1, seconds=0.5)
                    alone[entries].append(single.median_seconds * 1e3)
            inline, thread = median(rates[10**9]), median(rates[0])
            table.add_row(
                f"{devices} / {antennas}",
                str(antennas * devices),
                f"{inline:.0f}",
                f"{thread:.0f}",
                f"{inline / thread:.2f}",
                f"{median(alone[10**9]):.2f}",
                f"{median(alone[0]):.2f}",
            )
    Console().print(table)
