"""How uvicorn serves the application: with limits, an end, and no log of its own."""

import inspect
import math
from typing import Any

import uvicorn
from uvicorn.supervisors import Multiprocess

from app.execution.host import allow_open_files
from app.settings import Settings

KEEP_ALIVE_SECONDS = 75
"""Longer than any round, so that the connection of a controller stays open."""

MARGIN_SECONDS = 5
"""How much longer than the longest solve a shutdown may take."""

SPARE_FILES = 256
"""Open files for everything but client connections; half of those allowed, if that is fewer."""


def uvicorn_options(settings: Settings) -> dict[str, Any]:
    """Return the options of ``uvicorn.Config`` beside the application, its address and the log."""
    options: dict[str, Any] = {
        "access_log": False,
        "server_header": False,
        "http": "app.protocol:BoundedProtocol",
        "ws": "none",
        "timeout_keep_alive": KEEP_ALIVE_SECONDS,
        "timeout_graceful_shutdown": math.ceil(settings.deadline_ms / 1e3) + MARGIN_SECONDS,
    }
    if "timeout_worker_healthcheck" in inspect.signature(uvicorn.Config).parameters:
        # On a busy machine a worker takes longer than uvicorn's 5 s to load the libraries. Not much
        # longer: meanwhile the supervisor replaces no other.
        options["timeout_worker_healthcheck"] = 15
    return options


def connection_limit(settings: Settings) -> int:
    """Return how many connections may be open: as the settings say, if so many files may be."""
    allowed = allow_open_files(settings.max_connections + SPARE_FILES)
    return min(settings.max_connections, allowed - min(SPARE_FILES, allowed // 2))


class _Supervisor(Multiprocess):
    """Starts workers, and stops listening before they stop.

    Connections made after that would wait in its socket until the last worker has ended.
    """

    def terminate_all(self) -> None:
        for socket in self.sockets:
            socket.close()
        super().terminate_all()


def run_workers(config: uvicorn.Config) -> None:
    """Serve with ``config.workers`` processes until interrupted."""
    arguments: dict[str, Any] = {"config": config, "sockets": [config.bind_socket()]}
    if "target" in inspect.signature(Multiprocess).parameters:
        # Older versions of uvicorn do not make the server themselves.
        arguments["target"] = uvicorn.Server(config).run
    _Supervisor(**arguments).run()
