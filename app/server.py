"""How uvicorn is to serve the application: bounded, quiet, and with an end."""

import importlib.util
import inspect
import math
from typing import Any

import uvicorn

from app.settings import Settings

KEEP_ALIVE_SECONDS = 75
"""A controller asks once a round: longer than any, so that its connection stays open."""

MARGIN_SECONDS = 5
"""How much longer than the longest solve a shutdown may take."""


def uvicorn_options(settings: Settings) -> dict[str, Any]:
    """Return the options of ``uvicorn.Config`` beside the application, its address and the log."""
    options: dict[str, Any] = {
        "access_log": False,
        "server_header": False,
        "ws": "none",
        "timeout_keep_alive": KEEP_ALIVE_SECONDS,
        "timeout_graceful_shutdown": math.ceil(settings.deadline_ms / 1e3) + MARGIN_SECONDS,
    }
    if "timeout_worker_healthcheck" in inspect.signature(uvicorn.Config).parameters:
        # On a busy machine a worker takes longer than uvicorn's 5 s to load the libraries. Not much
        # longer: meanwhile the supervisor replaces no other.
        options["timeout_worker_healthcheck"] = 15
    if importlib.util.find_spec("httptools"):
        options["http"] = "app.protocol:BoundedProtocol"
    return options
