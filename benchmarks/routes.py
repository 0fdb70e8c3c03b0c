"""``POST /schedule`` against an echo of the same bytes, one uvicorn worker.

The echo routes of the same application read the same body and answer the same number of bytes:
the difference is what scheduling costs, and all else is the web stack. One is an ordinary FastAPI
route, the other a Starlette one, without FastAPI's search for parameters, as ``/schedule`` is.
"""

from statistics import median

import httpx
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks import load
from benchmarks.service import (
    JSON,
    MSGPACK,
    running_server,
    schedule_body,
    solve_milliseconds,
)

SIZES = [(6, 20), (16, 100), (64, 1000)]
ENCODINGS = [("JSON", JSON, False), ("JSON packed", JSON, True), ("MessagePack", MSGPACK, False)]
ROUNDS = 3
PROFILE_SECONDS = 5.0


def main() -> None:
    table = Table(
        "K / N",
        "encoding",
        "body [kB]",
        "schedule [1/s]",
        "echo [1/s]",
        "ratio",
        "plain echo [1/s]",
        "ratio",
        "solve [ms]",
        "outside the solver, over echo",
        title="POST /schedule, 4 connections",
    )
    cases = [(size, encoding) for size in SIZES for encoding in ENCODINGS]
    with running_server() as client:
        for (antennas, devices), (name, media_type, packed) in track(
            cases, "routes", transient=True
        ):
            body = schedule_body(antennas, devices, media_type, packed=packed)
            headers = {"Content-Type": media_type, "Accept": media_type}
            size = len(client.post("/schedule", content=body, headers=headers).content)
            # In turn, and the median of the rounds: noise hits all alike.
            paths = ("/schedule", f"/echo?size={size}", f"/plain-echo?size={size}")
            rates: dict[str, list[float]] = {path: [] for path in paths}
            for _ in range(ROUNDS):
                for path in paths:
                    outcome = load.post(client.base_url, path, body, media_type)
                    rates[path].append(outcome.requests_per_second)
            rate, echo_rate, plain_rate = (median(rates[path]) for path in paths)
            solve, outside, echo = _alone(client, body, headers, paths[1])
            table.add_row(
                f"{devices} / {antennas}",
                name,
                f"{len(body) / 1e3:.1f}",
                f"{rate:.0f}",
                f"{echo_rate:.0f}",
                f"{rate / echo_rate:.2f}",
                f"{plain_rate:.0f}",
                f"{rate / plain_rate:.2f}",
                f"{solve:.2f}",
                f"{outside / echo:.2f}×",
            )
    Console(width=120).print(table)


def profile() -> None:
    """List where the time of a request at 20 / 6 goes, in the thread of the event loop."""
    console = Console(width=120)
    with running_server() as client:
        for name, media_type in (("JSON", JSON), ("MessagePack", MSGPACK)):
            body = schedule_body(6, 20, media_type)
            headers = {"Content-Type": media_type, "Accept": media_type}
            size = len(client.post("/schedule", content=body, headers=headers).content)
            schedule, echo = (
                _microseconds(client, path, body, media_type)
                for path in ("/schedule", f"/echo?size={size}")
            )
            table = Table(
                "stage", "schedule [µs]", "echo [µs]", title=f"processor time, 20 / 6, {name}"
            )
            for stage in sorted(
                schedule.keys() | echo.keys(), key=lambda stage: -schedule.get(stage, 0)
            ):
                table.add_row(stage, *(f"{each.get(stage, 0):.0f}" for each in (schedule, echo)))
            table.add_row("all", *(f"{sum(each.values()):.0f}" for each in (schedule, echo)))
            console.print(table)


def _microseconds(
    client: httpx.Client, path: str, body: bytes, media_type: str
) -> dict[str, float]:
    """Return the microseconds of a request by stage."""
    client.post("/profile")
    outcome = load.post(client.base_url, path, body, media_type, seconds=PROFILE_SECONDS)
    stages = client.get("/profile").json()
    return {stage: seconds / outcome.requests * 1e6 for stage, seconds in stages.items()}


def _alone(
    client: httpx.Client, body: bytes, headers: dict[str, str], echo_path: str
) -> tuple[float, float, float]:
    """Return the median milliseconds of the solver, outside it, and of the echo, one at a time."""
    solves, outsides, echoes = [], [], []
    for _ in range(20):
        response = client.post("/schedule", content=body, headers=headers)
        solve = solve_milliseconds(response)
        solves.append(solve)
        outsides.append(response.elapsed.total_seconds() * 1e3 - solve)
        echo = client.post(echo_path, content=body, headers=headers)
        echoes.append(echo.elapsed.total_seconds() * 1e3)
    return median(solves), median(outsides), median(echoes)
