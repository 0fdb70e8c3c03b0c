"""The scheduling routes, one row each: they are served, documented and listed from this table."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.routing import Route

from app.api import openapi
from app.api.endpoint import Call, SchedulingEndpoint
from app.api.requests import BatchRequest, IrsScheduleRequest, RoundRequest, ScheduleRequest
from app.api.responses import BatchAnswer, IrsScheduleAnswer, ScheduleAnswer, schedule_answer


async def _schedules(asked: RoundRequest, call: Call) -> list[dict[str, Any]]:
    """Return the schedule of every round that is asked for."""
    problems, spec = asked.problems(), asked.specification()
    call.observation.algorithm = asked.algorithm.name
    call.observation.devices = problems[0].devices
    longest = call.service.settings.deadline_ms
    call.timing.mark("solve")
    found = await call.service.executor.solve(
        problems, spec, min(asked.deadline_ms or longest, longest) / 1e3, call.gone
    )
    call.observation.solve_seconds = call.timing.mark("encode")
    call.observation.active = [schedule.active.size for schedule in found]
    return [
        schedule_answer(asked, problem, schedule, call.media_type)
        for problem, schedule in zip(problems, found, strict=True)
    ]


async def _one(asked: RoundRequest, call: Call) -> dict[str, Any]:
    (answer,) = await _schedules(asked, call)
    return answer


async def _many(asked: RoundRequest, call: Call) -> dict[str, Any]:
    return {"schedules": await _schedules(asked, call)}


@dataclass(frozen=True)
class SchedulingRoute:
    """One scheduling route.

    Parameters
    ----------
    summary, description
        What it does, for the OpenAPI document.
    request, answer
        Models of its body and of its answer. The request's ``choices`` are its algorithms.
    respond
        (request, call) → fields of the answer. It marks in ``call.timing`` where solving begins,
        and where encoding does.
    """

    path: str
    summary: str
    description: str
    request: type[RoundRequest]
    answer: type[BaseModel]
    respond: Callable[[Any, Call], Awaitable[dict[str, Any]]]

    def served(self) -> Route:
        """Return the route as the service answers it."""
        return Route(self.path, SchedulingEndpoint(self.request, self.respond), methods=["POST"])

    def documented(self) -> APIRoute:
        """Return the route as FastAPI documents it."""
        return APIRoute(
            self.path,
            _documented,
            name=self.path.strip("/").replace("/", "_"),
            methods=["POST"],
            summary=self.summary,
            description=self.description,
            openapi_extra=openapi.body(self.request),
            responses=openapi.answers(self.answer),
            response_class=Response,
            tags=["scheduling"],
        )


def _documented() -> None:
    """Stand in for an endpoint that FastAPI describes but does not serve."""


_STATELESS = "Stateless: the same request and seed give the same schedule on any replica."

SCHEDULING_ROUTES = (
    SchedulingRoute(
        path="/schedule",
        summary="Schedule one round",
        description="Return the receiver, the active set and the power factor for these channels."
        f"\n\n{_STATELESS}",
        request=ScheduleRequest,
        answer=ScheduleAnswer,
        respond=_one,
    ),
    SchedulingRoute(
        path="/schedule/irs",
        summary="Schedule one round and tune a reflecting surface",
        description="Return the phases of the reflecting surface as well, tuned together with the "
        "schedule.\n\nEverything in the answer refers to the tuned channels H⁰ + T diag(phases) G. "
        + _STATELESS,
        request=IrsScheduleRequest,
        answer=IrsScheduleAnswer,
        respond=_one,
    ),
    SchedulingRoute(
        path="/schedule/batch",
        summary="Schedule many rounds at once",
        description="Return the schedules of many rounds that differ in their channels only.\n\n"
        "For sweeps, and for the subcarriers of one band. Each schedule is the one that "
        "`/schedule` would give.",
        request=BatchRequest,
        answer=BatchAnswer,
        respond=_many,
    ),
)
