"""Bodies: read within limits of size, time and memory, and decoded within limits of count.

A body is bounded before it is decoded, because decoding multiplies it: the three bytes ``[],``
become 64 bytes of Python objects. Nested arrays are therefore limited in the number of their values
(:data:`MAX_VALUES`); packed arrays are one string each and may be as large as a body.

Large answers count as memory, too, until their clients have read them.
"""

import asyncio
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import msgpack
import orjson
from pydantic_core import from_json
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from app.admission import Holding, Shares
from app.api.errors import ApiError, Cause, invalid
from app.api.wire import JSON, MSGPACK, Headers
from app.deadline import ClientDisconnectedError
from app.settings import Settings

Body = bytes | bytearray

ARRIVED = "arrived"
"""In a scope's state once the whole request has arrived: reading it cannot take long."""

LARGE_BYTES = 64 * 1024
"""Bodies larger than this are decoded in a thread, and answers are sent in pieces of it."""

MAX_VALUES = 2**18
"""Numbers, strings, lists and objects in a body. Decoding as many takes about 20 ms and 20 MiB."""

MAX_NAMES = 64
"""Names in one object; none that is valid has as many."""


async def read_body(
    receive: Receive,
    headers: Headers,
    settings: Settings,
    count: Callable[[int], None],
    *,
    arrived: bool,
) -> Body:
    """Read a body within the limits of size and time.

    One that is too large is refused before it is read in full, one that is too slow when its time
    is up.

    Parameters
    ----------
    count
        Called with the number of bytes that have arrived, each time; it may refuse them. A body
        of up to :data:`LARGE_BYTES` that has arrived is not counted: it is soon done with.
    arrived
        All of it has arrived, in one part: no timer is needed, which would take a tenth of a small
        request's time.
    """
    limit = settings.max_body_bytes
    announced = headers.get(b"content-length", b"0")
    # Python refuses to parse a number of thousands of digits.
    if len(announced) > 18 or (announced.isdigit() and int(announced) > limit):
        raise ApiError(Cause.BODY_TOO_LARGE, limit=limit)
    if arrived:
        body, _ = await _next_part(receive)
        if len(body) > limit:
            raise ApiError(Cause.BODY_TOO_LARGE, limit=limit)
        if len(body) > LARGE_BYTES:
            count(len(body))
        return body
    seconds = settings.read_timeout_ms / 1e3
    try:
        async with asyncio.timeout(seconds):
            return await _read_parts(receive, limit, count)
    except TimeoutError:
        raise ApiError(Cause.BODY_TOO_SLOW, seconds=seconds) from None


async def _read_parts(receive: Receive, limit: int, count: Callable[[int], None]) -> bytearray:
    body = bytearray()
    more = True
    while more:
        part, more = await _next_part(receive)
        if len(body) + len(part) > limit:
            raise ApiError(Cause.BODY_TOO_LARGE, limit=limit)
        count(len(part))
        body += part
    return body


async def _next_part(receive: Receive) -> tuple[bytes, bool]:
    """Return the next part of a body, and whether there are more."""
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientDisconnectedError
    return message.get("body", b""), message.get("more_body", False)


@lru_cache(maxsize=64)
def known_media_type(content_type: bytes, content_encoding: bytes, transfer_encoding: bytes) -> str:
    """Return the body's media type by its headers, or refuse it before the body is read."""
    media_type = content_type.decode("latin-1").partition(";")[0].strip().lower()
    encoding = content_encoding.decode("latin-1").strip().lower()
    transfer = transfer_encoding.decode("latin-1").strip().lower()
    if transfer != "chunked":
        raise ApiError(Cause.UNSUPPORTED_TRANSFER_CODING, given=transfer[:40])
    if media_type in (JSON, MSGPACK) and encoding == "identity":
        return media_type
    named = media_type[:80] or "nothing"
    if encoding != "identity":
        named += f" with Content-Encoding {encoding[:40]}"
    raise ApiError(Cause.UNSUPPORTED_MEDIA_TYPE, given=named)


def decode(body: Body, media_type: str) -> object:
    """Parse a body into plain values; an error if it is not what its media type says."""
    try:
        value = _decode_msgpack(body) if media_type == MSGPACK else _decode_json(body)
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        reason = str(error) or type(error).__name__
        name = "MessagePack" if media_type == MSGPACK else "JSON"
        raise ApiError(Cause.MALFORMED_BODY, format=name, reason=reason[:200]) from None
    if isinstance(value, dict):
        _require_few_names(value)
    return value


def _decode_json(body: Body) -> object:
    # No value without a comma before it or a bracket around it.
    if len(body) > MAX_VALUES and sum(map(body.count, (b",", b"[", b"{"))) > MAX_VALUES:
        raise ApiError(Cause.TOO_MANY_VALUES, limit=MAX_VALUES)
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        # NaN and Infinity are not JSON. Let them through here: validation then refuses them by
        # the name of their field.
        return from_json(body, allow_inf_nan=True)


def _decode_msgpack(body: Body) -> object:
    if len(body) <= MAX_VALUES:
        return msgpack.unpackb(body)
    values = 0

    def count(found: Any) -> Any:
        nonlocal values
        values += 1 + len(found)
        if values > MAX_VALUES:
            raise ApiError(Cause.TOO_MANY_VALUES, limit=MAX_VALUES)
        return found

    try:
        return msgpack.unpackb(body, list_hook=count, object_hook=count, max_array_len=MAX_VALUES)
    except ValueError as error:
        if "max_array_len" in str(error):
            raise ApiError(Cause.TOO_MANY_VALUES, limit=MAX_VALUES) from None
        raise


def _require_few_names(body: Mapping[str, Any]) -> None:
    """Refuse objects with so many names that each would become an error of its own."""
    for name, value in (("body", body), *body.items()):
        if isinstance(value, dict) and len(value) > MAX_NAMES:
            message = f"has {len(value)} names, where at most {MAX_NAMES} can be known"
            raise invalid([{"loc": [str(name)[:100]], "msg": message}])


class LargeResponse(Response):
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
