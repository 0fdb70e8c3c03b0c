"""Every route of the service, but those of the page and of Swagger UI (:mod:`.page`)."""

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.routing import request_response

from app.api import openapi
from app.api.catalogue import catalogue
from app.api.observer import Observation
from app.api.requests import (
    BatchRequest,
    FrontierRequest,
    IrsScheduleRequest,
    RoundRequest,
    ScheduleRequest,
)
from app.api.responses import (
    Algorithms,
    BatchAnswer,
    FrontierAnswer,
    Health,
    IrsScheduleAnswer,
    ScheduleAnswer,
    batch_answer,
    frontier_answer,
    schedule_answer,
)
from app.api.scheduling import answer, find_frontier, find_schedules
from app.api.security import require_key
from app.api.wideband import WidebandAnswer, WidebandRequest, wideband_answer
from app.metrics import CONTENT_TYPE, exposition
from app.service import Service
from app.settings import Settings

PROBES = frozenset({"/health/live", "/health/ready", "/metrics"})
"""Routes that machines ask all the time."""

REQUESTS: dict[str, type[RoundRequest]] = {}
"""What the scheduling routes take, by path."""


class _PlainRoute(APIRoute):
    """A path operation that takes the request and returns the response: nothing to solve or check.

    FastAPI would look for parameters in the query, the headers and the cookies of every request,
    and keep stacks for dependencies that there are none of.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        self.app = request_response(endpoint)


_router = APIRouter()
_plain_router = APIRouter(route_class=_PlainRoute)


def install(app: FastAPI, settings: Settings) -> None:
    """Add the routes to ``app``, unless the settings switch them off."""
    # Not included as a router, which newer FastAPI versions do not list route by route.
    app.routes.extend(_plain_router.routes)
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


def _schedules(
    path: str, summary: str, request: type[RoundRequest], answer: type[BaseModel]
) -> Callable[[Any], Any]:
    """Return the decorator of a scheduling route, with the models of its body and its answer."""
    REQUESTS[path] = request
    return _plain_router.post(
        path,
        summary=summary,
        openapi_extra=openapi.body(request),
        responses=openapi.answers(answer),
        response_class=Response,
        tags=["scheduling"],
    )


@_schedules("/schedule", "Schedule one round", ScheduleRequest, ScheduleAnswer)
async def schedule(request: Request) -> Response:
    """Return the receiver, the active set and the power factor for these channels.

    Stateless: the same request and seed give the same schedule on every replica of one image.
    """
    return await answer(request, ScheduleRequest, find_schedules, schedule_answer)


@_schedules(
    "/schedule/irs",
    "Schedule one round and tune a reflecting surface",
    IrsScheduleRequest,
    IrsScheduleAnswer,
)
async def schedule_irs(request: Request) -> Response:
    """Return the phases of the reflecting surface as well, tuned together with the schedule.

    Everything in the answer refers to the tuned channels H⁰ + T diag(phases) G. Stateless: the
    same request and seed give the same schedule on every replica of one image.
    """
    return await answer(request, IrsScheduleRequest, find_schedules, schedule_answer)


@_schedules("/schedule/batch", "Schedule many rounds at once", BatchRequest, BatchAnswer)
async def schedule_batch(request: Request) -> Response:
    """Return the schedules of many rounds that differ in their channels only.

    For sweeps. Each schedule is the one that `/schedule` would give. For the subcarriers of one
    band, `/schedule/wideband` finds one set for all.
    """
    return await answer(request, BatchRequest, find_schedules, batch_answer)


@_schedules("/schedule/wideband", "Schedule one round over a band", WidebandRequest, WidebandAnswer)
async def schedule_wideband(request: Request) -> Response:
    """Return one active set for all subcarriers, and a receiver for each.

    Every coordinate of the model is then averaged over the same devices, whichever subcarrier
    carries it. Stateless: the same request and seed give the same schedule on every replica of one
    image.
    """
    return await answer(request, WidebandRequest, find_schedules, wideband_answer)


@_schedules(
    "/schedule/frontier", "Schedule one round at every tolerance", FrontierRequest, FrontierAnswer
)
async def schedule_frontier(request: Request) -> Response:
    """Return the trade-off of devices and error: one schedule for each number of devices.

    Each has the least error found for its number; schedules that another beats, with as many
    devices or more for less error, are left out. For a controller that would rather see the
    trade-off than state a tolerance. With more than 100 devices, there are up to 100 points.
    Stateless: the same request and seed give the same schedule on every replica of one image.
    """
    return await answer(request, FrontierRequest, find_frontier, frontier_answer)


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
    _require_key(request)
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
    if request.app.state.service.settings.metrics_key:
        _require_key(request)
    return Response(exposition(), media_type=CONTENT_TYPE)


async def openapi_document(request: Request) -> Response:
    """Return the OpenAPI document."""
    if request.app.state.service.settings.docs_key:
        _require_key(request)
    return JSONResponse(request.app.openapi())


def _require_key(request: Request) -> None:
    observation: Observation = request.scope["observation"]
    require_key(observation.headers, request.app.state.service.settings)


ALGORITHMS = catalogue(REQUESTS)
