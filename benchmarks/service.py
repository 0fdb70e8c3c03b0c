"""Starts the benchmark server, and builds the requests that are sent to it."""

import base64
import os
import socket
import subprocess
import sys
import tempfile
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
    port = free_port()
    command = ["uvicorn", "benchmarks.server:app", "--port", str(port)]
    options = ["--no-access-log", "--log-level", "warning", "--timeout-keep-alive", "75"]
    with _process([*command, *options], {}) as process, _client(process, port) as client:
        yield client


@contextmanager
def running_command(
    cores: set[int] | None = None, **settings: object
) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Run ``python -m app`` as an operator does, and yield the process and its address once ready.

    Parameters
    ----------
    cores
        Processor cores that it may use; all if None.
    settings
        Named as in :class:`app.settings.Settings`.
    """
    port = free_port()
    environment = {f"AIRSCHED_{name.upper()}": str(value) for name, value in settings.items()}
    with _process(["app", "--port", str(port)], environment) as process:
        if cores is not None:
            os.sched_setaffinity(process.pid, cores)
        with _client(process, port) as client:
            yield process, str(client.base_url).rstrip("/")


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@contextmanager
def _process(module: list[str], environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run a module, and show the end of what it said if something goes wrong meanwhile."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [sys.executable, "-m", *module],
            stdout=subprocess.DEVNULL,
            stderr=log,
            env=os.environ | environment,
        )
        try:
            yield process
        except BaseException:
            log.seek(max(0, log.seek(0, os.SEEK_END) - 5000))
            sys.stderr.write(log.read().decode(errors="replace"))
            raise
        finally:
            process.terminate()
            process.wait()


@contextmanager
def _client(process: subprocess.Popen[bytes], port: int) -> Iterator[httpx.Client]:
    """Yield a client once the service is ready."""
    give_up = time.monotonic() + 60
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
        while True:
            try:
                if client.get("/health/ready").status_code == 200:
                    break
            except httpx.ConnectError:
                pass
            if process.poll() is not None or time.monotonic() > give_up:
                raise RuntimeError("the service did not become ready; its own words are above")
            time.sleep(0.05)
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
    """Return what the answer's ``Server-Timing`` says of the solver."""
    timing = response.headers["server-timing"]
    return float(timing.partition("solve;dur=")[2].partition(",")[0])
