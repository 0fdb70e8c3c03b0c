"""A call through the client against a bare httpx POST of the same bytes to the same route.

The two are sent in turn, so that noise hits both alike. What the client adds is writing the arrays
and reading the answer.
"""

import time
from collections.abc import Callable
from functools import partial
from statistics import median

import httpx
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from airsched_client import SchedulerClient, _calls
from airsched_client._wire import ENCODINGS
from benchmarks.service import running_server
from lab.channels import iid_channels

SIZES = [(6, 20), (16, 100)]
CALLS = 2000
WARM_UP = 50


def main() -> None:
    table = Table(
        "K / N",
        "encoding",
        "bare POST [µs]",
        "client [µs]",
        "ratio",
        title="one call after the other on loopback, medians",
    )
    cases = [(size, encoding) for size in SIZES for encoding in ENCODINGS]
    with running_server() as server:
        for (antennas, devices), encoding in track(cases, "client", transient=True):
            channels = iid_channels(np.random.default_rng(0), antennas, devices)
            call = _calls.schedule(ENCODINGS[encoding], channels, "antennas_first", {"gamma_db": 0})
            headers = {"Accept": ENCODINGS[encoding].media_type, **call.request["headers"]}
            with (
                SchedulerClient(str(server.base_url), encoding=encoding) as client,
                httpx.Client(base_url=server.base_url) as bare,
            ):
                content = call.request["content"]
                post = partial(bare.post, "/schedule", content=content, headers=headers)
                ask = partial(client.schedule, channels, gamma_db=0)
                assert call.result(post()).active.tolist() == ask().active.tolist()
                seconds, reference = _in_turn(ask, post)
            table.add_row(
                f"{devices} / {antennas}",
                encoding,
                f"{reference * 1e6:.0f}",
                f"{seconds * 1e6:.0f}",
                f"{seconds / reference:.2f}",
            )
    Console().print(table)


def _in_turn(*calls: Callable[[], object]) -> list[float]:
    """Return the median seconds of each."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(CALLS + WARM_UP):
        for call, taken in zip(calls, times, strict=True):
            started = time.perf_counter()
            call()
            taken.append(time.perf_counter() - started)
    return [median(taken[WARM_UP:]) for taken in times]
