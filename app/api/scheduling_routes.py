"""The scheduling routes, one row each: they are served, documented and listed from this table."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.routing import Route

from app.api import openapi
from app.api.endpoint import Call, SchedulingEndpoint
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
from app.kernel_parts import FRONTIER, needed
from app.scheduling import Frontier, Schedule


async def _solve(asked: RoundRequest, call: Call) -> Sequence[Schedule]:
    """Return the schedule of every round that is asked for."""
    spec = asked.specification()
    seconds = _begin(asked, call, needed(spec))
    found = await call.service.executor.solve(asked.problems, spec, seconds, call.gone, call.client)
    _end(call, found)
    return found


async def _find_frontier(asked: FrontierRequest, call: Call) -> Frontier:
    """Return the schedules of the round at every tolerance."""
    seconds = _begin(asked, call, {FRONTIER})
    found = await call.service.executor.frontier(
        asked.problems[0],
        asked.specification(),
        asked.min_devices,
        seconds,
        call.gone,
        call.client,
    )
    _end(call, [point.schedule for point in found.points])
    return found


def _begin(asked: RoundRequest, call: Call, parts: Collection[str]) -> float:
    """Note what is solved, and from when on; return the seconds that it may take.

    Parameters
    ----------
    parts
        Names of the parts of the kernels that it needs.
    """
    call.service.readiness.require_compiled(parts)
    call.observation.algorithm = asked.algorithm.name
    call.observation.devices = asked.devices
    longest = call.service.settings.deadline_ms
    call.timing.mark("solve")
    return min(asked.deadline_ms or longest, longest) / 1e3


def _end(call: Call, found: Sequence[Schedule]) -> None:
    call.observation.solve_seconds = call.timing.mark("encode")
    call.observation.active = [schedule.active.size for schedule in found]


@dataclass(frozen=True)
class SchedulingRoute:
    """One scheduling route.

    Parameters
    ----------
    summary, description
        What it does, for the OpenAPI document.
    request, answer
        Models of its body and of its answer. The request's ``choices`` are its algorithms.
    compose
        (request, schedules, media type) → fields of the answer.
    solve
        (request, call) → schedules. It marks in ``call.timing`` where solving begins and ends.
    """

    path: str
    summary: str
    description: str
    request: type[RoundRequest]
    answer: type[BaseModel]
    compose: Callable[[Any, Any, str], dict[str, Any]]
    solve: Callable[[Any, Call], Awaitable[Any]] = _solve

    @cached_property
    def endpoint(self) -> SchedulingEndpoint:
        """What answers its requests."""
        return SchedulingEndpoint(self.request, self.solve, self.compose)

    def served(self) -> Route:
        """Return the route as the service answers it."""
        return Route(self.path, self.endpoint, methods=["POST"])

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
        compose=schedule_answer,
    ),
    SchedulingRoute(
        path="/schedule/irs",
        summary="Schedule one round and tune a reflecting surface",
        description="Return the phases of the reflecting surface as well, tuned together with the "
        "schedule.\n\nEverything in the answer refers to the tuned channels H⁰ + T diag(phases) G. "
        + _STATELESS,
        request=IrsScheduleRequest,
        answer=IrsScheduleAnswer,
        compose=schedule_answer,
    ),
    SchedulingRoute(
        path="/schedule/batch",
        summary="Schedule many rounds at once",
        description="Return the schedules of many rounds that differ in their channels only.\n\n"
        "For sweeps, and for the subcarriers of one band. Each schedule is the one that "
        "`/schedule` would give.",
        request=BatchRequest,
        answer=BatchAnswer,
        compose=batch_answer,
    ),
    SchedulingRoute(
        path="/schedule/frontier",
        summary="Schedule one round at every tolerance",
        description="Return, for each number of devices that can be served, the schedule with the "
        "least error found, unless another has as many devices or more for less error.\n\n"
        "For a controller that would rather see the trade-off than state a tolerance. With more "
        "than 100 devices, there are up to 100 points. " + _STATELESS,
        request=FrontierRequest,
        answer=FrontierAnswer,
        compose=frontier_answer,
        solve=_find_frontier,
    ),
)
