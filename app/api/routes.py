"""Every route of the service; those that schedule are in :mod:`.scheduling_routes`."""

from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse, Response

from app.api import openapi
from app.api.catalogue import ALGORITHMS
from app.api.responses import Algorithms, Health
from app.api.scheduling_routes import SCHEDULING_ROUTES
from app.api.security import require_key
from app.metrics import CONTENT_TYPE, exposition
from app.service import Service
from app.settings import Settings

PROBES = frozenset({"/health/live", "/health/ready", "/metrics"})
"""Routes that machines ask all the time."""


def install(app: FastAPI, settings: Settings) -> None:
    """Add every route to ``app``. Scheduling routes are only documented by FastAPI."""
    # First, because a request is held against one route after the other.
    app.routes[:0] = [route.served() for route in SCHEDULING_ROUTES]
    app.get(
        "/algorithms",
        summary="List the algorithms",
        response_model=Algorithms,
        responses=openapi.errors("algorithms"),
        openapi_extra={"security": openapi.OPTIONAL_KEY},
        tags=["scheduling"],
    )(algorithms)
    app.get(
        "/health/live",
        summary="Is the process up?",
        response_model=Health,
        tags=["health"],
    )(live)
    app.get(
        "/health/ready",
        summary="Can it schedule?",
        response_model=Health,
        responses=openapi.errors("ready"),
        tags=["health"],
    )(ready)
    if settings.metrics:
        app.get(
            "/metrics",
            summary="What does it count?",
            response_class=PlainTextResponse,
            tags=["health"],
        )(metrics)


async def algorithms(request: Request) -> Any:
    """Return every algorithm with its parameters, their defaults and bounds, and its source."""
    require_key(dict(request.scope["headers"]), request.app.state.service.settings)
    return ALGORITHMS


async def live() -> Any:
    """Answer as long as the process runs."""
    return Health(status="live")


async def ready(request: Request) -> Any:
    """Solve a small problem; 503 until the default algorithm is compiled, and while it stops.

    Algorithms that were compiled before are loaded by then; others may still be compiled, and
    answer 503 themselves.
    """
    service: Service = request.app.state.service
    service.check()
    return Health(status="ready")


async def metrics() -> Response:
    """Return what the service counts, in Prometheus' text format."""
    return Response(exposition(), media_type=CONTENT_TYPE)
