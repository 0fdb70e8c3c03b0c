"""The way of every scheduling request: authorise, read, decode, solve, encode.

A request counts as in progress once its body has arrived: heads without bodies hold up nobody.
Large bodies and answers are decoded and encoded in a thread, so that the event loop goes on.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from app.admission import Shares
from app.api.bodies import ARRIVED, LARGE_BYTES, Body, decode, read_body, require_known_media_type
from app.api.observer import Observation
from app.api.requests import FrontierRequest, RoundRequest
from app.api.security import client_of
from app.api.wire import answer_type, encode
from app.deadline import Deadline
from app.scheduling import Frontier, Schedule
from app.service import Service
from app.warmup import FRONTIER, required_parts

LARGE_DEVICES = 2048
"""Answers about more devices than this, over all rounds, are encoded in a thread."""

Model = TypeVar("Model", bound=RoundRequest)
Found = TypeVar("Found", Sequence[Schedule], Frontier)


async def answer(
    request: Request,
    model: type[Model],
    find: Callable[[Model, Service, Deadline], Awaitable[Found]],
    compose: Callable[[Model, Found, str], dict[str, Any]],
) -> Response:
    """Answer one scheduling request.

    Parameters
    ----------
    model
        Of its body.
    find
        (body, service, deadline) → what is found.
    compose
        (body, what is found, media type) → fields of the answer.
    """
    service: Service = request.app.state.service
    observation: Observation = request.scope["observation"]
    headers, settings = observation.headers, service.settings
    client = client_of(request.scope.get("client"), headers, settings)
    media_type = require_known_media_type(headers)
    service.readiness.require_ready()
    observation.begin("wait")
    with service.memory.holding(client) as hold:
        arrived = ARRIVED in request.scope.get("state", ())
        body = await read_body(request.receive, headers, settings, hold, arrived=arrived)
        deadline = Deadline.after(
            settings.deadline_ms / 1e3, client, partial(_disconnected, request.receive)
        )
        with service.places.holding(client, 1):
            await service.turns.take(client)
            observation.begin("decode")
            if len(body) <= LARGE_BYTES:
                asked = _decoded(body, media_type, model, service)
            else:
                asked = await service.run_in_thread(_decoded, body, media_type, model, service)
            del body
            observation.algorithm, observation.devices = asked.algorithm.name, asked.devices
            observation.begin("solve")
            found = await find(asked, service, deadline.within(asked.deadline_ms))
            observation.found(found)
            media_type = answer_type(headers)
            if asked.answered_devices <= LARGE_DEVICES:
                content = encode(compose(asked, found, media_type), media_type)
            else:
                content = await service.run_in_thread(
                    lambda: encode(compose(asked, found, media_type), media_type)
                )
    if len(content) <= LARGE_BYTES:
        return Response(content, media_type=media_type)
    return _LargeResponse(content, media_type, service.memory, client)


async def find_schedules(
    asked: RoundRequest, service: Service, deadline: Deadline
) -> Sequence[Schedule]:
    """Return the schedule of every round of a request."""
    spec = asked.specification()
    service.readiness.require_compiled(required_parts(spec))
    return await service.executor.solve(asked.problems, spec, deadline)


async def find_frontier(asked: FrontierRequest, service: Service, deadline: Deadline) -> Frontier:
    """Return the schedules of one round at every tolerance."""
    service.readiness.require_compiled({FRONTIER})
    return await service.executor.frontier(
        asked.problems[0], asked.specification(), asked.min_devices, deadline
    )


def _decoded(body: Body, media_type: str, model: type[Model], service: Service) -> Model:
    asked = model.model_validate(decode(body, media_type), context=service.limits)
    # Checked and kept, so that nobody has to do it on the event loop.
    assert asked.problems
    return asked


async def _disconnected(receive: Receive) -> None:
    """Return when the client has gone."""
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
        with self._memory.holding(self._client, len(content)):
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
