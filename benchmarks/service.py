"""Starts the benchmark server, and builds the requests that are sent to it."""

import base64
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import msgpack
import numpy as np
from pydantic_core import to_json

from benchmarks.channels import iid_channels

JSON, MSGPACK = "application/json", "application/msgpack"


@contextmanager
def running_server() -> Iterator[httpx.Client]:
    """Serve :mod:`benchmarks.server` with one worker, and yield a client to it once ready."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "benchmarks.server:app", "--port", str(port)]
    options = ["--no-access-log", "--log-level", "warning", "--timeout-keep-alive", "75"]
    process = subprocess.Popen([*command, *options])
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            for _ in range(600):
                try:
                    if client.get("/health/ready").status_code == 200:
                        break
                except httpx.ConnectError:
                    pass
                time.sleep(0.1)
            yield client
    finally:
        process.terminate()
        process.wait()


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
    """Return what the answer's ``Server-Timing`` says of the solver."""
    timing = response.headers["server-timing"]
    return float(timing.partition("solve;dur=")[2].partition(",")[0])
