"""The way of every scheduling request: authorise, read, decode, answer, encode.

A plain ASGI application, not a FastAPI path operation: it takes nothing by injection, and the
machinery for that would cost a request more than the search does (``make bench``).
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from starlette.types import Receive, Scope, Send

from app.api.observer import Observation
from app.api.requests import RoundRequest
from app.api.security import require_key
from app.api.timing import Timing
from app.api.wire import answer_type, decode, encode, read_body, require_known_media_type
from app.execution import AbandonedError
from app.service import Service


class Call(NamedTuple):
    """What answering a request takes, beside what it asks for.

    Parameters
    ----------
    media_type
        Of the answer.
    """

    service: Service
    observation: Observation
    timing: Timing
    media_type: str
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
    respond
        (request, call) → fields of the answer.
    """

    def __init__(
        self,
        request: type[RoundRequest],
        respond: Callable[[Any, Call], Awaitable[dict[str, Any]]],
    ) -> None:
        self._request, self._respond = request, respond

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; errors are left to the application's handlers."""
        timing = scope["timing"] = Timing("decode")
        service: Service = scope["app"].state.service
        headers = dict(scope["headers"])
        require_key(headers, service.settings)
        service.enter()
        try:
            # Lets every request that has come in by now be counted before the first is solved:
            # where there are too many, the last ones are told so at once.
            await asyncio.sleep(0)
            media_type = require_known_media_type(headers)
            service.require_compiled()
            body = decode(await read_body(receive, headers, service.settings), media_type)
            call = Call(service, scope["observation"], timing, answer_type(headers), receive)
            asked = self._request.model_validate(body, context=service.limits)
            answer = await self._respond(asked, call)
        except AbandonedError:
            return
        finally:
            service.leave()
        content = encode(answer, call.media_type)
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [
                    (b"content-length", b"%d" % len(content)),
                    (b"content-type", call.media_type.encode()),
                    (b"server-timing", str(timing).encode()),
                ],
            }
        )
        await send({"type": "http.response.body", "body": content})
