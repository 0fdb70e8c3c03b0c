"""The routes beside those that schedule: algorithms, health, metrics, the OpenAPI document.

:func:`install` adds them all, but for the page and Swagger UI (:mod:`.page`).
"""

from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response

from app.api import openapi, scheduling
from app.api.catalogue import catalogue
from app.api.responses import Algorithms, Health
from app.api.security import authorise
from app.metrics import CONTENT_TYPE, exposition
from app.service import Service
from app.settings import Settings

PROBES = frozenset({"/health/live", "/health/ready", "/metrics"})
"""Routes that machines ask all the time."""

_router = APIRouter()


def install(app: FastAPI, settings: Settings) -> None:
    """Add the routes to ``app``, unless the settings switch them off."""
    # Not included as a router, which newer FastAPI versions do not list route by route.
    app.routes.extend(scheduling.router.routes)
    app.routes.extend(_router.routes)
    if settings.metrics:
        app.get(
            "/metrics",
            summary="What does it count?",
            response_class=PlainTextResponse,
            tags=["health"],
        )(metrics)
    if settings.docs:
        app.get("/openapi.json", include_in_schema=False)(openapi_document)


@_router.get(
    "/algorithms",
    summary="List the algorithms",
    response_model=Algorithms,
    responses=openapi.errors("algorithms"),
    openapi_extra={"security": openapi.OPTIONAL_KEY},
    tags=["scheduling"],
)
async def algorithms(request: Request) -> Any:
    """Return every algorithm with its parameters, their defaults and bounds, and its source."""
    authorise(request.scope, request.app.state.service.settings)
    return ALGORITHMS


@_router.get("/health/live", summary="Is the process up?", response_model=Health, tags=["health"])
async def live() -> Any:
    """Answer as long as the process runs."""
    return Health(status="live")


@_router.get(
    "/health/ready",
    summary="Can it schedule?",
    response_model=Health,
    responses=openapi.errors("ready"),
    tags=["health"],
)
async def ready(request: Request) -> Any:
    """Solve a small problem; 503 until the default algorithm is compiled, and while it stops.

    Algorithms that were compiled before are loaded by then; others may still be compiled, and
    answer 503 themselves.
    """
    service: Service = request.app.state.service
    service.check()
    return Health(status="ready")


async def metrics(request: Request) -> Response:
    """Return what the service counts, in Prometheus' text format."""
    settings: Settings = request.app.state.service.settings
    if settings.metrics_key:
        authorise(request.scope, settings)
    return Response(exposition(), media_type=CONTENT_TYPE)


async def openapi_document(request: Request) -> Response:
    """Return the OpenAPI document."""
    settings: Settings = request.app.state.service.settings
    if settings.docs_key:
        authorise(request.scope, settings)
    return JSONResponse(request.app.openapi())


ALGORITHMS = catalogue(scheduling.REQUESTS)
