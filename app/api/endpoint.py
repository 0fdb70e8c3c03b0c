"""The way of every scheduling request: authorise, read, decode, solve, encode.

A plain ASGI application, not a FastAPI path operation: it takes nothing by injection, and the
machinery for that would cost a request more than the search does (``make bench``). It answers with
errors itself, so that :class:`Shortcut` can take requests past the framework's routing.

A request counts as in progress once its body has arrived: heads without bodies hold up nobody.
Large bodies and answers are decoded and encoded in a thread, so that the event loop goes on.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Receive, Scope, Send

from app.api.bodies import (
    ARRIVED,
    LARGE_BYTES,
    Body,
    Headers,
    decode,
    read_body,
    require_known_media_type,
)
from app.api.error_responses import answer_to, refuse
from app.api.observer import Observation
from app.api.requests import RoundRequest
from app.api.security import client_of
from app.api.timing import Timing
from app.api.wire import answer_type, encode
from app.execution.lane import AbandonedError
from app.service import Service
from app.shares import OverloadedError

LARGE_DEVICES = 2048
"""Answers about more devices than this, over all rounds, are encoded in a thread."""

Hold = Callable[[int], None]


class Call(NamedTuple):
    """What answering a request takes, beside what it asks for.

    Parameters
    ----------
    client
        Who asks: a key, or else an address.
    """

    service: Service
    client: str
    observation: Observation
    timing: Timing
    receive: Receive

    async def gone(self) -> None:
        """Return when the client has gone."""
        while (await self.receive())["type"] != "http.disconnect":
            pass


class SchedulingEndpoint:
    """Serves one scheduling route.

    Parameters
    ----------
    request
        Model of the body.
    solve
        (request, call) → what is found.
    compose
        (request, what is found, media type) → fields of the answer.
    """

    def __init__(
        self,
        request: type[RoundRequest],
        solve: Callable[[Any, Call], Awaitable[Any]],
        compose: Callable[[Any, Any, str], dict[str, Any]],
    ) -> None:
        self._request, self._solve, self._compose = request, solve, compose

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, also with an error of the table; others are raised."""
        timing = scope["timing"] = Timing("decode")
        service: Service = scope["app"].state.service
        headers: Headers = dict(scope["headers"])
        try:
            client = client_of(scope.get("client"), headers, service.settings)
            call = Call(service, client, scope["observation"], timing, receive)
            with service.memory.holding(client) as hold:
                arrived = ARRIVED in scope.get("state", ())
                content, media_type = await self._answer(call, headers, hold, arrived)
                await _send(send, content, media_type, timing)
        except OverloadedError as error:
            await refuse(scope, send, error)
        except (AbandonedError, ClientDisconnect):
            # There is nobody to answer; the observer counts it as such.
            return
        except Exception as error:
            await answer_to(Request(scope), error)(scope, receive, send)

    async def _answer(
        self, call: Call, headers: Headers, hold: Hold, arrived: bool
    ) -> tuple[bytes, str]:
        service = call.service
        media_type = require_known_media_type(headers)
        service.readiness.require_ready()
        if not arrived:
            service.places.require_room(call.client)
        body = await read_body(call.receive, headers, service.settings, hold, arrived=arrived)
        with service.places.holding(call.client) as take:
            take(1)
            await service.turns.take(call.client)
            if len(body) <= LARGE_BYTES:
                asked = self._decoded(body, media_type, service)
            else:
                asked = await service.aside(self._decoded, body, media_type, service)
            del body
            found = await self._solve(asked, call)
            answer_in = answer_type(headers)
            if asked.answered_devices <= LARGE_DEVICES:
                content = self._encode(asked, found, answer_in)
            else:
                content = await service.aside(self._encode, asked, found, answer_in)
        if len(content) > LARGE_BYTES:
            hold(len(content))
        return content, answer_in

    def _decoded(self, body: Body, media_type: str, service: Service) -> RoundRequest:
        value = decode(body, media_type)
        asked = self._request.model_validate(value, context=service.limits)
        # Checked and kept, so that nobody has to do it on the event loop.
        assert asked.problems
        return asked

    def _encode(self, asked: RoundRequest, found: Any, media_type: str) -> bytes:
        return encode(self._compose(asked, found, media_type), media_type)


class Shortcut:
    """Wraps an application, and answers POST requests to some paths in its place.

    Parameters
    ----------
    endpoints
        What answers them, by path.
    """

    def __init__(self, app: ASGIApp, endpoints: Mapping[str, ASGIApp]) -> None:
        self._app, self._endpoints = app, endpoints

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request to where it is answered."""
        app = self._app
        if scope["type"] == "http" and scope["method"] == "POST":
            app = self._endpoints.get(scope["path"], app)
        await app(scope, receive, send)


async def _send(send: Send, content: bytes, media_type: str, timing: Timing) -> None:
    await send(
        {
            "type": "http.response.start",
            "status": 200,
            "headers": [
                (b"content-length", b"%d" % len(content)),
                (b"content-type", media_type.encode()),
                (b"server-timing", str(timing).encode()),
            ],
        }
    )
    # In pieces, because each waits for the client to have read the last ones: what is unread stays
    # here, where it is counted.
    for start in range(0, len(content), LARGE_BYTES):
        end = start + LARGE_BYTES
        more = end < len(content)
        await send({"type": "http.response.body", "body": content[start:end], "more_body": more})
