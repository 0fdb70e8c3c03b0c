"""The scheduling routes: each names its models, and all are answered in one way.

A request counts as in progress once its body has arrived, so a client that sends only heads does
not use up the limit. Large bodies and answers are decoded and encoded in a thread, so that the
event loop goes on.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from fastapi import APIRouter, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.types import Receive, Scope, Send

from app.admission import Holding
from app.api import openapi
from app.api.bodies import (
    ARRIVED,
    LARGE_BYTES,
    Body,
    LargeResponse,
    decode,
    known_media_type,
    read_body,
)
from app.api.observer import Observation
from app.api.requests import (
    BatchRequest,
    FrontierRequest,
    IrsScheduleRequest,
    RoundRequest,
    ScheduleRequest,
)
from app.api.responses import (
    BatchAnswer,
    FrontierAnswer,
    IrsScheduleAnswer,
    ScheduleAnswer,
    batch_answer,
    frontier_answer,
    schedule_answer,
)
from app.api.security import authorise
from app.api.wideband import WidebandAnswer, WidebandRequest, wideband_answer
from app.api.wire import answer_type, encode
from app.deadline import Deadline
from app.scheduling import Frontier, Schedule
from app.service import Service
from app.warmup import FRONTIER

LARGE_DEVICES = 2048
"""Answers about more devices than this, over all rounds, are encoded in a thread."""

REQUESTS: dict[str, type[RoundRequest]] = {}
"""What the scheduling routes take, by path."""

Model = TypeVar("Model", bound=RoundRequest)
Found = TypeVar("Found", Sequence[Schedule], Frontier)


class _PlainRoute(APIRoute):
    """A path operation that takes the request and returns the response, and nothing else.

    FastAPI would look for parameters in the query, the headers and the cookies of every request,
    and keep stacks for dependencies; these operations have neither.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, endpoint, **options)

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            response: Response = await endpoint(Request(scope, receive, send))
            await response(scope, receive, send)

        self.app = app


router = APIRouter(route_class=_PlainRoute)


def _schedules(
    path: str, summary: str, request: type[RoundRequest], answer: type[BaseModel]
) -> Callable[[Any], Any]:
    """Return the decorator of a scheduling route, with the models of its body and its answer."""
    REQUESTS[path] = request
    return router.post(
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
    return await _answer(request, ScheduleRequest, _find_schedules, schedule_answer)


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
    return await _answer(request, IrsScheduleRequest, _find_schedules, schedule_answer)


@_schedules("/schedule/batch", "Schedule many rounds at once", BatchRequest, BatchAnswer)
async def schedule_batch(request: Request) -> Response:
    """Return the schedules of many rounds that differ in their channels only.

    For sweeps. Each schedule is the one that `/schedule` would give. For the subcarriers of one
    band, `/schedule/wideband` finds one set for all.
    """
    return await _answer(request, BatchRequest, _find_schedules, batch_answer)


@_schedules("/schedule/wideband", "Schedule one round over a band", WidebandRequest, WidebandAnswer)
async def schedule_wideband(request: Request) -> Response:
    """Return one active set for all subcarriers, and a receiver for each.

    Every coordinate of the model is then averaged over the same devices, whichever subcarrier
    carries it. Stateless: the same request and seed give the same schedule on every replica of one
    image.
    """
    return await _answer(request, WidebandRequest, _find_schedules, wideband_answer)


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
    return await _answer(request, FrontierRequest, _find_frontier, frontier_answer)


async def _answer(
    http: Request,
    model: type[Model],
    find: Callable[[Model, Service, Deadline], Awaitable[Found]],
    compose: Callable[[Model, Found, str], dict[str, Any]],
) -> Response:
    """Authorise, read, decode, solve, encode.

    Parameters
    ----------
    http
        As received.
    model
        Of its body.
    find
        (request, service, deadline) → what is found.
    compose
        (request, what is found, media type) → fields of the answer.
    """
    service: Service = http.app.state.service
    observation: Observation = http.scope["observation"]
    headers, settings = observation.headers, service.settings
    client = authorise(http.scope, settings)
    media_type = known_media_type(
        headers.get(b"content-type", b""),
        headers.get(b"content-encoding", b"identity"),
        headers.get(b"transfer-encoding", b"chunked"),
    )
    service.readiness.require_ready()
    observation.begin("wait")
    with Holding(service.memory, client) as hold:
        arrived = ARRIVED in http.scope.get("state", ())
        body = await read_body(http.receive, headers, settings, hold, arrived=arrived)
        disconnected = partial(_disconnected, http.receive)
        deadline = Deadline(settings.deadline_ms / 1e3, client, disconnected)
        with Holding(service.in_progress, client, 1):
            await service.turns.take(client)
            observation.begin("decode")
            if len(body) <= LARGE_BYTES:
                request = _decoded(body, media_type, model, service)
            else:
                request = await service.run_in_thread(_decoded, body, media_type, model, service)
            del body
            observation.algorithm, observation.devices = request.algorithm.name, request.devices
            observation.begin("solve")
            found = await find(request, service, deadline.within(request.deadline_ms))
            observation.found(found)
            media_type = answer_type(headers.get(b"accept", b""))
            if request.answered_devices <= LARGE_DEVICES:
                content = encode(compose(request, found, media_type), media_type)
            else:
                content = await service.run_in_thread(
                    lambda: encode(compose(request, found, media_type), media_type)
                )
    if len(content) <= LARGE_BYTES:
        return Response(content, media_type=media_type)
    return LargeResponse(content, media_type, service.memory, client)


async def _find_schedules(
    request: RoundRequest, service: Service, deadline: Deadline
) -> Sequence[Schedule]:
    """Return the schedule of every round of a request."""
    spec = request.specification()
    service.readiness.require_compiled(spec)
    return await service.executor.solve(request.problems, spec, deadline)


async def _find_frontier(
    request: FrontierRequest, service: Service, deadline: Deadline
) -> Frontier:
    """Return the schedules of one round at every tolerance."""
    spec = request.specification()
    service.readiness.require_compiled(spec, FRONTIER)
    return await service.executor.frontier(request.problems[0], spec, request.min_devices, deadline)


def _decoded(body: Body, media_type: str, model: type[Model], service: Service) -> Model:
    request = model.model_validate(decode(body, media_type), context=service.limits)
    # They are made once, and kept: here, so that large ones do not hold up the event loop.
    _ = request.problems
    return request


async def _disconnected(receive: Receive) -> None:
    """Return when the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass
