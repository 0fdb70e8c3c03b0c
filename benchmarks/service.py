"""The benchmark server, and the requests sent to it."""

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import msgpack
import numpy as np
from pydantic_core import to_json

from lab.channels import iid_channels
from lab.service import running_command

JSON, MSGPACK = "application/json", "application/msgpack"


@contextmanager
def running_server(**settings: Any) -> Iterator[httpx.Client]:
    """Serve :mod:`benchmarks.server` with one worker, and yield a client to it once ready."""
    with (
        running_command("benchmarks.server", **settings) as (_, address),
        httpx.Client(base_url=address, timeout=60) as client,
    ):
        yield client


def schedule_body(
    antennas: int, devices: int, media_type: str, *, packed: bool = False, **fields: object
) -> bytes:
    """Return a request at 0 dB: nested lists in JSON unless ``packed``, packed in MessagePack."""
    channels = iid_channels(np.random.default_rng(0), antennas, devices)
    value: dict[str, object] = {"real": channels.real.tolist(), "imag": channels.imag.tolist()}
    if packed or media_type == MSGPACK:
        data = channels.tobytes()
        value = {
            "dtype": "complex128",
            "shape": [antennas, devices],
            "data": data if media_type == MSGPACK else base64.b64encode(data).decode(),
        }
    body: dict[str, object] = {"channels": value, "gamma_db": 0, **fields}
    return bytes(msgpack.packb(body)) if media_type == MSGPACK else to_json(body)


def solve_milliseconds(response: httpx.Response) -> float:
    """Return the time in the solver, from the answer's ``Server-Timing``."""
    timing = response.headers["server-timing"]
    return float(timing.partition("solve;dur=")[2].partition(",")[0])
