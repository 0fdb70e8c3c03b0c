"""Start a service in a separate process, and stop it whatever happens."""

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx

START_SECONDS = 60.0
"""A service that is not ready by then has failed."""
STOP_SECONDS = 30.0
"""A service that has not stopped by then is killed."""

Running = tuple[subprocess.Popen[bytes], str]
"""The process and its address."""


@contextmanager
def running_command(
    module: str = "app",
    cores: set[int] | None = None,
    folder: Path | None = None,
    **settings: object,
) -> Iterator[Running]:
    """Run ``python -m app`` as an operator does; yield its process and address once ready.

    Parameters
    ----------
    module
        What to run in place of it.
    folder
        Where its code is; the current folder if None.
    cores
        Processor cores that it may use; all if None.
    settings
        Named as in :class:`app.settings.Settings`.
    """
    environment = {f"AIRSCHED_{name.upper()}": str(value) for name, value in settings.items()}
    with running_module(module, environment=environment, cores=cores, folder=folder) as running:
        yield running


@contextmanager
def running_module(
    *command: str,
    environment: Mapping[str, str] | None = None,
    cores: set[int] | None = None,
    folder: Path | None = None,
) -> Iterator[Running]:
    """Run ``python -m command… --port …`` on a free port; yield process and address once ready.

    If anything fails meanwhile, the end of its log is written to stderr.
    """
    port = free_port()
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [sys.executable, "-m", *command, "--port", str(port)],
            stdout=subprocess.DEVNULL,
            stderr=log,
            env={**os.environ, **(environment or {})},
            cwd=folder,
        )
        try:
            if cores is not None:
                os.sched_setaffinity(process.pid, cores)
            address = f"http://127.0.0.1:{port}"
            _wait_until_ready(process, address)
            yield process, address
        except KeyboardInterrupt:
            raise
        except BaseException:
            log.seek(max(0, log.seek(0, os.SEEK_END) - 5000))
            sys.stderr.write(log.read().decode(errors="replace"))
            raise
        finally:
            _stop(process)


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _wait_until_ready(process: subprocess.Popen[bytes], address: str) -> None:
    give_up = time.monotonic() + START_SECONDS
    with httpx.Client(base_url=address, timeout=START_SECONDS) as client:
        while not _ready(client):
            if process.poll() is not None or time.monotonic() > give_up:
                raise RuntimeError("the service did not become ready; the end of its log is above")
            time.sleep(0.05)


def _ready(client: httpx.Client) -> bool:
    try:
        return client.get("/health/ready").status_code == 200
    except httpx.ConnectError:
        return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
