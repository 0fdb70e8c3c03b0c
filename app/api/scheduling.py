"""The way of every scheduling request: authorise, read, decode, solve, encode.

A request counts as in progress once its body has arrived: heads without bodies delay no other.
Large bodies and answers are decoded and encoded in a thread, so that the event loop goes on.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from app.admission import Holding, Shares
from app.api.bodies import ARRIVED, LARGE_BYTES, Body, decode, read_body, require_known_media_type
from app.api.observer import Observation
from app.api.requests import FrontierRequest, RoundRequest
from app.api.security import client_of
from app.api.wire import answer_type, encode
from app.deadline import Deadline
from app.scheduling import Frontier, Schedule
from app.service import Service
from app.warmup import FRONTIER

LARGE_DEVICES = 2048
"""Answers about more devices than this, over all rounds, are encoded in a thread."""

Model = TypeVar("Model", bound=RoundRequest)
Found = TypeVar("Found", Sequence[Schedule], Frontier)


async def answer(
    http: Request,
    model: type[Model],
    find: Callable[[Model, Service, Deadline], Awaitable[Found]],
    compose: Callable[[Model, Found, str], dict[str, Any]],
) -> Response:
    """Answer one scheduling request.

    Parameters
    ----------
    http
        As it came.
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
    client = client_of(http.scope.get("client"), headers, settings)
    media_type = require_known_media_type(headers)
    service.readiness.require_ready()
    observation.begin("wait")
    with Holding(service.memory, client) as hold:
        arrived = ARRIVED in http.scope.get("state", ())
        body = await read_body(http.receive, headers, settings, hold, arrived=arrived)
        deadline = Deadline.after(
            settings.deadline_ms / 1e3, client, partial(_disconnected, http.receive)
        )
        with Holding(service.places, client, 1):
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
            media_type = answer_type(headers)
            if request.answered_devices <= LARGE_DEVICES:
                content = encode(compose(request, found, media_type), media_type)
            else:
                content = await service.run_in_thread(
                    lambda: encode(compose(request, found, media_type), media_type)
                )
    if len(content) <= LARGE_BYTES:
        return Response(content, media_type=media_type)
    return _LargeResponse(content, media_type, service.memory, client)


async def find_schedules(
    request: RoundRequest, service: Service, deadline: Deadline
) -> Sequence[Schedule]:
    """Return the schedule of every round of a request."""
    spec = request.specification()
    service.readiness.require_compiled(spec)
    return await service.executor.solve(request.problems, spec, deadline)


async def find_frontier(request: FrontierRequest, service: Service, deadline: Deadline) -> Frontier:
    """Return the schedules of one round at every tolerance."""
    spec = request.specification()
    service.readiness.require_compiled(spec, FRONTIER)
    return await service.executor.frontier(request.problems[0], spec, request.min_devices, deadline)


def _decoded(body: Body, media_type: str, model: type[Model], service: Service) -> Model:
    request = model.model_validate(decode(body, media_type), context=service.limits)
    # Checked and kept, so that it is not done on the event loop.
    assert request.problems
    return request


async def _disconnected(receive: Receive) -> None:
    """Return when the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass


class _LargeResponse(Response):
    """Sent in pieces, because each waits for the client to have read the last ones.

    What is unread stays here, where it counts as memory that the client holds.
    """

    def __init__(self, content: bytes, media_type: str, memory: Shares, client: str) -> None:
        super().__init__(content, media_type=media_type)
        self._memory, self._client = memory, client

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        content = bytes(self.body)
        with Holding(self._memory, self._client, len(content)):
            await send(
                {
                    "type": "http.response.start",
                    "status": self.status_code,
                    "headers": self.raw_headers,
                }
            )
            for start in range(0, len(content), LARGE_BYTES):
                piece, more = content[start : start + LARGE_BYTES], start + LARGE_BYTES
                more_body = more < len(content)
                await send({"type": "http.response.body", "body": piece, "more_body": more_body})
