"""``python -m app``: start the service, and say on one line where it is."""

import argparse
import os
import socket
import tempfile

import uvicorn

from app import __version__, logs
from app.settings import Settings


class _Server(uvicorn.Server):
    """A server that says where it listens, once it does."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            # Asked for port 0, the system chose another.
            _announce(self.config.host, self.servers[0].sockets[0].getsockname()[1])


def main() -> None:
    """Parse the command line and serve until interrupted."""
    settings = Settings()
    parser = argparse.ArgumentParser(prog="python -m app", description="Start the service.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    parser.add_argument(
        "--port", default=8000, type=int, help="port to listen on, 0 for a free one (%(default)s)"
    )
    parser.add_argument(
        "--workers",
        default=settings.workers,
        type=int,
        help="processes that serve requests (AIRSCHED_WORKERS, %(default)s)",
    )
    arguments = parser.parse_args()
    # Before NumPy is imported, with the application. Solves run side by side: threads inside one
    # would compete with the others, and wait for each other, spinning, where cores are short.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if arguments.workers > 1 and arguments.port == 0:
        parser.error("several workers need a --port that is not 0")
    options = {
        "app": "app.main:app",
        "host": arguments.host,
        "port": arguments.port,
        "log_config": logs.configuration(settings),
        "log_level": "warning",
        "access_log": False,
        # A controller asks once a round: longer than any, so that its connection stays open.
        "timeout_keep_alive": 75,
    }
    if arguments.workers == 1:
        _Server(uvicorn.Config(**options)).run()
        return
    _announce(arguments.host, arguments.port)
    with tempfile.TemporaryDirectory(prefix="airsched-metrics-") as directory:
        # Where the workers put what they count, so that each can tell the sum.
        os.environ.setdefault("PROMETHEUS_MULTIPROC_DIR", directory)
        uvicorn.run(**options, workers=arguments.workers)


def _announce(host: str, port: int) -> None:
    address = f"http://{host}:{port}"
    documentation = f", its documentation at {address}/docs" if Settings().docs else ""
    print(f"airsched {__version__} is at {address}{documentation}", flush=True)


if __name__ == "__main__":
    main()
