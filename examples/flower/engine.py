"""Flower's simulation engine for as long as it is needed, apart from the user's own Flower."""

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from lab.service import free_port

_APP = Path(__file__).parent
_BIN = Path(sys.executable).parent
_START_SECONDS = 120.0
_SETTINGS = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    # Else Ray looks for the cluster of an earlier `ray start`, even if that has long ended.
    "RAY_ADDRESS": "local",
    # The app runs in this environment; Flower would make another one for every run.
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    # A run once hung in a matrix product of the server; with one thread none did.
    "OPENBLAS_NUM_THREADS": "1",
}


class Engine:
    """A running SuperLink that simulates nodes on Ray."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def run(self, nodes: int, config: Mapping[str, object]) -> None:
        """Run the app with values in place of those of its ``pyproject.toml``; show its log."""
        values = " ".join(f"{name}={_toml(value)}" for name, value in config.items())
        federation = f"num-supernodes={nodes} client-resources-num-cpus=1"
        command = [str(_BIN / "flwr"), "run", str(_APP), "engine", "--stream"]
        command += ["--federation-config", federation, "--run-config", values]
        subprocess.run(command, env=self._environment, check=True)


@contextmanager
def running_engine() -> Iterator[Engine]:
    """Start a SuperLink on free ports with a folder of its own; stop it at the end."""
    with tempfile.TemporaryDirectory(prefix="airsched-flower-") as home:
        # Flower starts its own programs by name.
        path = f"{_BIN}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, **_SETTINGS, "FLWR_HOME": home, "PATH": path}
        port = free_port()
        (Path(home) / "config.toml").write_text(
            f'[superlink.engine]\naddress = "127.0.0.1:{port}"\ninsecure = true\n'
        )
        command = [str(_BIN / "flower-superlink"), "--insecure", "--simulation"]
        command += ["--host", "127.0.0.1", "--port", str(port)]
        log = Path(home) / "superlink.log"
        with log.open("wb") as file:
            process = subprocess.Popen(command, env=environment, stdout=file, stderr=file)
        try:
            _wait_until_listening(process, port, log)
            yield Engine(environment)
        finally:
            process.terminate()
            process.wait(60)


def _toml(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


def _wait_until_listening(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    give_up = time.monotonic() + _START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > give_up:
                raise RuntimeError(f"the SuperLink did not start:\n{log.read_text()}") from None
        time.sleep(0.1)
