"""``python -m app``: start the service, and say on one line where it is."""

import argparse
import logging.config
import os
import socket
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import uvicorn
from pydantic import ValidationError

from app import __version__, logs
from app.server import run_workers, uvicorn_options
from app.settings import Settings


class _Server(uvicorn.Server):
    """A server that says where it listens, once it does."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            # For port 0 the system chose one.
            _announce(self.config.host, self.servers[0].sockets[0].getsockname()[1])


def main() -> None:
    """Parse the command line and serve until interrupted."""
    settings = _settings()
    arguments = _parse(settings)
    # Before NumPy is imported, with the application. Solves run side by side: threads inside one
    # would compete with the others, and wait for each other, spinning, where cores are short.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    log_config = logs.configuration(settings)
    logging.config.dictConfig(log_config)
    options = {
        "app": "app.main:app",
        "host": arguments.host,
        "port": arguments.port,
        "log_config": log_config,
        "log_level": "warning",
        **uvicorn_options(settings),
    }
    with suppress(KeyboardInterrupt):
        _serve(options, arguments.workers)


def _serve(options: dict[str, Any], workers: int) -> None:
    if workers == 1:
        _Server(uvicorn.Config(**options)).run()
        return
    _announce(options["host"], options["port"])
    with tempfile.TemporaryDirectory(prefix="airsched-metrics-") as directory:
        # Where the workers put what they count, so that each can tell the sum.
        os.environ.setdefault("PROMETHEUS_MULTIPROC_DIR", directory)
        _require_writable(Path(os.environ["PROMETHEUS_MULTIPROC_DIR"]))
        run_workers(uvicorn.Config(**options, workers=workers))


def _settings() -> Settings:
    """Return the settings of the environment, or say which of them is wrong and exit."""
    try:
        return Settings()
    except ValidationError as error:
        for item in error.errors(include_url=False, include_input=False):
            name = "_".join(map(str, item["loc"] or "*")).upper()
            message = item["msg"].removeprefix("Value error, ")
            print(f"AIRSCHED_{name}: {message}", file=sys.stderr)
        sys.exit(2)


def _parse(settings: Settings) -> argparse.Namespace:
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
    if not 0 <= arguments.port <= 65535:
        parser.error(f"--port must be 0 to 65535, not {arguments.port}")
    if arguments.workers < 1:
        parser.error(f"--workers must be at least 1, not {arguments.workers}")
    if arguments.workers > 1 and arguments.port == 0:
        parser.error("several workers need a --port that is not 0")
    return arguments


def _announce(host: str, port: int) -> None:
    settings, address = Settings(), f"http://{host}:{port}"
    if settings.log_format == "json":
        # A line of text would break what parses the log.
        fields = {"version": __version__, "address": address}
        logs.logger.info("airsched is listening", extra={"fields": fields})
        return
    documentation = f", its documentation at {address}/docs" if settings.docs else ""
    try:
        print(f"airsched {__version__} is at {address}{documentation}", flush=True)
    except OSError as error:
        logs.logger.warning("listening at %s; standard output fails: %s", address, error)


def _require_writable(directory: Path) -> None:
    """Exit with a message unless the workers can keep their counts in ``directory``."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        logs.logger.error("PROMETHEUS_MULTIPROC_DIR cannot be written to: %s", error)
        sys.exit(2)


if __name__ == "__main__":
    main()
