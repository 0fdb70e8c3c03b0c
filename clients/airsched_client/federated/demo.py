"""``make demo``: start a service, train digits over its schedules with six policies, stop it again.

Needs the service installed beside the client. It is started as a process of its own and asked over
HTTP, as any other service would be.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from airsched_client.client import SchedulerClient
from airsched_client.federated.__main__ import main as federated

_POLICIES = ("perfect", "dual_pursuit", "matching_pursuit", "sdr", "random", "all_devices")


def main() -> int:
    """Run the demonstration with further options of the command; return its exit status."""
    # `make` passes on SIGTERM as it is: leave through the same door as after Ctrl-C.
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        with service() as url:
            return federated(
                ["--url", url, "--policies", *_POLICIES, "--seeds", *"01234", *sys.argv[1:]]
            )
    except KeyboardInterrupt:
        return 130


@contextmanager
def service() -> Iterator[str]:
    """Run a service on a free port of this machine, and stop it whatever happens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "app", "--port", str(port)],
        stdout=subprocess.DEVNULL,
        # A line a request would tear the progress bar apart.
        env={"AIRSCHED_LOG_LEVEL": "warning", **os.environ},
    )
    try:
        url = f"http://127.0.0.1:{port}"
        with SchedulerClient(url) as scheduler:
            while not scheduler.ready():
                if process.poll() is not None:
                    raise RuntimeError("the service did not start: run `make run` to see why")
                time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
