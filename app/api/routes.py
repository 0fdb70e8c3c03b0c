"""The routes: request → problem → scheduler → schedule → response."""

from inspect import getdoc
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.routing import Route

from app.api import openapi
from app.api.algorithms import CHOICES, IRS_CHOICES, AlgorithmChoice
from app.api.endpoint import Answer, Call, SchedulingEndpoint
from app.api.requests import BatchRequest, IrsScheduleRequest, RoundRequest, ScheduleRequest
from app.api.responses import (
    AlgorithmInfo,
    Algorithms,
    BatchAnswer,
    Health,
    IrsScheduleAnswer,
    ParameterInfo,
    ScheduleAnswer,
    schedule_answer,
)
from app.api.security import require_key
from app.metrics import CONTENT_TYPE, exposition
from app.scheduling import Context
from app.service import Service
from app.settings import Settings

PROBES = frozenset({"/health/live", "/health/ready", "/metrics"})
"""Routes that machines ask all the time."""


def install(app: FastAPI, settings: Settings) -> None:
    """Add every route to ``app``. Scheduling routes are only documented by FastAPI."""
    # First, because a request is held against one route after the other.
    app.routes[:0] = [
        Route(path, SchedulingEndpoint(answer), methods=["POST"])
        for path, answer in (
            ("/schedule", schedule),
            ("/schedule/irs", schedule_irs),
            ("/schedule/batch", schedule_batch),
        )
    ]
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


async def schedule(call: Call) -> dict[str, Any]:
    """Return the receiver, the active set and the power factor for these channels.

    Stateless: the same request and seed give the same schedule on any replica.
    """
    asked = ScheduleRequest.model_validate(call.body, context=call.service.limits)
    return await _answer(asked, call)


async def schedule_irs(call: Call) -> dict[str, Any]:
    """Return the phases of the reflecting surface as well, tuned together with the schedule.

    Everything in the answer refers to the tuned channels H⁰ + T diag(phases) G. Stateless: the
    same request and seed give the same schedule on any replica.
    """
    asked = IrsScheduleRequest.model_validate(call.body, context=call.service.limits)
    return await _answer(asked, call)


async def schedule_batch(call: Call) -> dict[str, Any]:
    """Return the schedules of many rounds that differ in their channels only.

    For sweeps, and for the subcarriers of one band. Each schedule is the one that `/schedule`
    would give.
    """
    asked = BatchRequest.model_validate(call.body, context=call.service.limits)
    return {"schedules": await _answers(asked, call)}


async def _answer(asked: RoundRequest, call: Call) -> dict[str, Any]:
    """Return the answer to a request for one round."""
    (answer,) = await _answers(asked, call)
    return answer


async def _answers(asked: RoundRequest, call: Call) -> list[dict[str, Any]]:
    problems = asked.problems()
    call.observation.algorithm = asked.algorithm.name
    call.observation.devices = problems[0].devices
    longest = call.service.settings.deadline_ms
    call.timing.mark("solve")
    found = await call.service.executor.solve(
        problems,
        asked.algorithm.name,
        asked.algorithm.parameters,
        Context(asked.seed, warm_start=asked.warm_start),
        min(asked.deadline_ms or longest, longest) / 1e3,
        coordination=asked.coordination,
        polish=asked.polish,
        gone=call.gone,
    )
    call.observation.solve_seconds = call.timing.mark("encode")
    call.observation.active = [schedule.active.size for schedule in found]
    return [
        schedule_answer(asked, problem, schedule, call.media_type)
        for problem, schedule in zip(problems, found, strict=True)
    ]


async def algorithms(request: Request) -> Any:
    """Return every algorithm with its parameters, their defaults and bounds, and its source."""
    require_key(dict(request.scope["headers"]), request.app.state.service.settings)
    return _ALGORITHMS


async def live() -> Any:
    """Answer as long as the process runs."""
    return Health(status="live")


async def ready(request: Request) -> Any:
    """Solve a small problem; 503 until the kernels are compiled, and while the service stops."""
    service: Service = request.app.state.service
    service.check()
    return Health(status="ready")


async def metrics() -> Response:
    """Return what the service counts, in Prometheus' text format."""
    return Response(exposition(), media_type=CONTENT_TYPE)


def _documented() -> None:
    """Stand in for an endpoint that FastAPI describes but does not serve."""


def _document(
    path: str,
    answer: Answer,
    summary: str,
    request: type[RoundRequest],
    response: type[BaseModel],
) -> APIRoute:
    return APIRoute(
        path,
        _documented,
        name=path.strip("/").replace("/", "_"),
        methods=["POST"],
        summary=summary,
        description=getdoc(answer),
        openapi_extra=openapi.body(request),
        responses=openapi.answers(response),
        response_class=Response,
        tags=["scheduling"],
    )


SCHEDULING = [
    _document("/schedule", schedule, "Schedule one round", ScheduleRequest, ScheduleAnswer),
    _document(
        "/schedule/irs",
        schedule_irs,
        "Schedule one round and tune a reflecting surface",
        IrsScheduleRequest,
        IrsScheduleAnswer,
    ),
    _document(
        "/schedule/batch", schedule_batch, "Schedule many rounds at once", BatchRequest, BatchAnswer
    ),
]
"""The scheduling routes, as the OpenAPI document describes them."""


def _describe(model: type[AlgorithmChoice], endpoints: list[str]) -> AlgorithmInfo:
    scheduler = model.scheduler
    properties = model.model_json_schema()["properties"]
    hidden = ("default", "title")
    return AlgorithmInfo(
        name=scheduler.name,
        summary=scheduler.summary,
        reference=scheduler.reference,
        endpoints=endpoints,
        parameters=[
            ParameterInfo(
                name=parameter,
                default=schema["default"],
                json_schema={key: value for key, value in schema.items() if key not in hidden},
            )
            for parameter, schema in properties.items()
            if parameter != "name"
        ],
    )


_ALGORITHMS = Algorithms(
    algorithms=[
        _describe(model, endpoints)
        for endpoints, choices in (
            (["/schedule", "/schedule/batch"], CHOICES),
            (["/schedule/irs"], IRS_CHOICES),
        )
        for model in choices.values()
    ]
)
