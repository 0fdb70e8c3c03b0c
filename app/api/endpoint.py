"""The way of every scheduling request: authorise, read, decode, solve, encode.

A plain ASGI application, not a FastAPI path operation: it takes nothing by injection, and the
machinery for that would cost a request more than the search does (``make bench``).

A request counts as in progress once its body has arrived: heads without bodies hold up nobody.
Large bodies and answers are decoded and encoded in a thread, so that the event loop goes on.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from app.api.bodies import ARRIVED, Headers, decode, read_body, require_known_media_type
from app.api.error_responses import refuse
from app.api.observer import Observation
from app.api.requests import RoundRequest
from app.api.security import client_of
from app.api.timing import Timing
from app.api.wire import answer_type, encode
from app.lanes import AbandonedError
from app.service import Service
from app.shares import OverloadedError

LARGE_BYTES = 64 * 1024
"""Bodies larger than this are decoded in a thread, and answers are sent in pieces of it."""

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
        """Answer one request; most errors are left to the application's handlers."""
        timing = scope["timing"] = Timing("decode")
        service: Service = scope["app"].state.service
        headers: Headers = dict(scope["headers"])
        client = client_of(scope, headers, service.settings)
        call = Call(service, client, scope["observation"], timing, receive)
        try:
            with service.memory.holding(client) as hold:
                arrived = ARRIVED in scope.get("state", ())
                content, media_type = await self._answer(call, headers, hold, arrived)
                await _send(send, content, media_type, timing)
        except OverloadedError as error:
            await refuse(scope, send, error)
        except (AbandonedError, ClientDisconnect):
            # There is nobody to answer; the observer counts it as such.
            return

    async def _answer(
        self, call: Call, headers: Headers, hold: Hold, arrived: bool
    ) -> tuple[bytes, str]:
        service = call.service
        media_type = require_known_media_type(headers)
        service.readiness.require_ready()
        service.places.require_room(call.client)
        body = await read_body(call.receive, headers, service.settings, hold, arrived=arrived)
        with service.places.holding(call.client) as take:
            take(1)
            # Lets every request that has arrived by now be counted before the first is solved:
            # if there are too many, the last ones are told so at once.
            await asyncio.sleep(0)
            if len(body) <= LARGE_BYTES:
                asked = self._parse(body, media_type, service)
            else:
                asked = await service.aside(self._parse, body, media_type, service)
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

    def _parse(self, body: bytearray, media_type: str, service: Service) -> RoundRequest:
        asked = self._request.model_validate(decode(body, media_type), context=service.limits)
        # Checked and kept, so that nobody has to do it on the event loop.
        assert asked.problems
        return asked

    def _encode(self, asked: RoundRequest, found: Any, media_type: str) -> bytes:
        return encode(self._compose(asked, found, media_type), media_type)


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
