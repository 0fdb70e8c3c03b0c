"""Refuses what a full queue would refuse, before anything else is done with the request.

Only while a queue is full. A look at the body tells which queue the request needs, if any: what
would run on the event loop is never refused here. Whatever cannot be told at a glance, and every
request that is wrong in any way, goes on to its route and is answered there.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.algorithms import choose
from app.api.bodies import ARRIVED, decode, require_known_media_type
from app.api.endpoint import LARGE_BYTES
from app.api.error_responses import refuse
from app.api.errors import ApiError
from app.api.requests import PlainRequest, RoundRequest
from app.api.security import client_of
from app.execution import Outline
from app.lanes import QueueFullError
from app.service import Service

_QUEUE_FULL = QueueFullError()


class Shedder:
    """Wraps an application.

    Parameters
    ----------
    requests
        Model of the body, by path.
    """

    def __init__(
        self, app: ASGIApp, requests: Mapping[str, type[RoundRequest]], service: Service
    ) -> None:
        self._app, self._requests, self._service = app, requests, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if not self._service.executor.crowded or scope.get("path") not in self._requests:
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        message = await self._first_message(scope, receive) if _is_small(headers) else None
        if message is not None and self._refuses(scope, headers, message):
            await refuse(scope, send, _QUEUE_FULL)
        else:
            await self._app(scope, _again(message, receive), send)

    async def _first_message(self, scope: Scope, receive: Receive) -> Message | None:
        """Return the first part of the body; None if it takes too long."""
        if ARRIVED in scope.get("state", ()):
            return await receive()
        try:
            async with asyncio.timeout(self._service.settings.read_timeout_ms / 1e3):
                return await receive()
        except TimeoutError:
            return None

    def _refuses(self, scope: Scope, headers: Mapping[bytes, bytes], message: Message) -> bool:
        body = message.get("body", b"")
        if len(body) < int(headers[b"content-length"]) or scope["method"] != "POST":
            return False
        try:
            client = client_of(scope, headers, self._service.settings)
            value = decode(bytearray(body), require_known_media_type(headers))
            outline = outline_of(self._requests[scope["path"]], value)
        # Its route says what is wrong with it.
        except (ApiError, ValueError, TypeError, LookupError, AttributeError):
            return False
        return self._service.executor.refuses(outline, client)


def _is_small(headers: Mapping[bytes, bytes]) -> bool:
    """Whether the body is announced, and decoded on the event loop."""
    length = headers.get(b"content-length", b"")
    return length.isdigit() and len(length) < 9 and int(length) <= LARGE_BYTES


def outline_of(request: type[RoundRequest], body: Any) -> Outline:
    """Return what a decoded body of this model asks for, without checking the rest of it."""
    asked = body.get("algorithm", request.model_fields["algorithm"].default)
    choice = choose(request.choices, asked) if isinstance(asked, str | dict) else asked
    plain = issubclass(request, PlainRequest) and not (body.get("polish") or body.get("bound"))
    rounds, antennas, devices = [1, 1, 1, *(_shape(body["channels"]) if plain else ())][-3:]
    return Outline(choice.scheduler, choice.parameters, antennas, devices, rounds, plain)


def _shape(channels: Any) -> list[int]:
    if "shape" in channels:
        return [int(length) for length in channels["shape"]]
    shape, values = [], channels["real"]
    while isinstance(values, list):
        shape.append(len(values))
        values = values[0]
    return shape


def _again(message: Message | None, receive: Receive) -> Receive:
    """Return ``receive`` such that it first returns ``message``."""
    first = [] if message is None else [message]

    async def received() -> Message:
        return first.pop() if first else await receive()

    return received
