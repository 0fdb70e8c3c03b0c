"""uvicorn's HTTP protocol with limits: of heads in size and time, of connections in number.

uvicorn's own takes heads of any size, and has no read or write timeout. Here

- a head has at most :data:`MAX_HEAD_BYTES` and arrives within ``AIRSCHED_READ_TIMEOUT_MS``;
- headers behind the body (trailers) do not count as headers of the request, and are bounded alike;
- an upgrade to another protocol is declined: the request is answered, the connection closed;
- an answer that is not read within ``AIRSCHED_WRITE_TIMEOUT_MS`` ends its connection;
- beyond ``AIRSCHED_MAX_CONNECTIONS`` the connection that has been idle longest is closed, of the
  address that has most of them, so that a newcomer gets in.
"""

import asyncio
from asyncio.events import TimerHandle
from collections import Counter
from collections.abc import Callable
from enum import Enum
from itertools import chain
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from app import metrics
from app.api.bodies import ARRIVED, LARGE_BYTES
from app.api.errors import ApiError, Cause
from app.api.observer import REFUSED, Records
from app.logs import logger
from app.settings import Settings

MAX_HEAD_BYTES = 32 * 1024
"""Request line and headers; more than any proxy lets through."""

_Reading = Enum("_Reading", "NOTHING HEAD BODY UNPARSED_BODY NO_MORE")
"""What the next bytes are. The parser leaves the body of a declined upgrade to us. NO_MORE: the
connection is only kept to finish an answer."""

_FOLLOWING = {_Reading.BODY: _Reading.NOTHING, _Reading.UNPARSED_BODY: _Reading.NO_MORE}


class _JoinedWrites:
    """A transport that sends together what is written in one pass of the event loop.

    uvicorn writes the head and the body of an answer apart, and uvloop passes every write on: two
    calls of the operating system, a tenth of a small request's processor time.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._parts: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send ``data`` soon, or at once if there is much: the transport says when to pause."""
        if not self._parts:
            self._loop.call_soon(self._send)
        self._parts.append(data)
        if len(data) >= LARGE_BYTES:
            self._send()

    def close(self) -> None:
        self._send()
        self._transport.close()

    def abort(self) -> None:
        self._send()
        self._transport.abort()

    def _send(self) -> None:
        parts, self._parts = self._parts, []
        if parts and not self._transport.is_closing():
            self._transport.write(b"".join(parts))


class BoundedProtocol(HttpToolsProtocol):
    """One connection."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        # The application's lifespan puts them there.
        self._settings: Settings = self.app_state["settings"]
        self._records: Records = self.app_state["records"]
        self._max_connections: int = self.app_state["max_connections"]
        self._reading = _Reading.NOTHING
        # Bytes that came since the last part of a body; bytes still to come of one left unparsed.
        self._since_body = self._missing = 0
        self._timers: dict[str, TimerHandle] = {}
        self._idle_since, self._address = self.loop.time(), ""

    @property
    def idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, in place of another connection if there are too many."""
        super().connection_made(transport)
        self.transport = _JoinedWrites(transport, self.loop)  # type: ignore[assignment]
        self._address = self.client[0] if self.client else ""
        metrics.CONNECTIONS.set(len(self.connections))
        self._expect_message()
        if len(self.connections) > self._max_connections and not self._make_room():
            self._refuse(ApiError(Cause.TOO_MANY_CONNECTIONS))

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        super().connection_lost(exc)
        metrics.CONNECTIONS.set(len(self.connections))
        for name in list(self._timers):
            self._cancel_timer(name)

    def data_received(self, data: bytes) -> None:
        """Parse what has arrived."""
        if self._reading is _Reading.UNPARSED_BODY:
            self._take_unparsed(data)
            return
        if self._reading is _Reading.NO_MORE:
            return
        self._since_body += len(data)
        try:
            self.parser.feed_data(data)
            if self._reading is not _Reading.NOTHING:
                # Some of it may be in the parser, which holds an unfinished header back.
                _require_small(self._since_body)
                self._expect_message()
        except httptools.HttpParserUpgrade as upgrade:
            self._take_unparsed(data[upgrade.args[0] :])
        except (httptools.HttpParserError, ApiError) as error:
            self._refuse(_explained(error))

    def eof_received(self) -> None:
        """Close behind what has been answered: the transport would do it without."""
        self.transport.close()

    def on_message_begin(self) -> None:
        """Begin a head."""
        self._unset_keepalive_if_required()
        super().on_message_begin()
        self._reading = _Reading.HEAD

    def on_headers_complete(self) -> None:
        """Start answering."""
        _require_small(len(self.url) + sum(map(len, chain.from_iterable(self.headers))))
        if not self.url.startswith(b"/") and httptools.parse_url(self.url).path is None:
            raise ApiError(Cause.MALFORMED_HTTP)
        if self.parser.get_http_version() == "1.0":
            self.expect_100_continue = False
        super().on_headers_complete()
        self._reading = _Reading.BODY
        if self.parser.should_upgrade():
            self._reading = _Reading.UNPARSED_BODY
            self._missing = int(dict(self.headers).get(b"content-length", b"0"))
            self._close_after_answer()
        # Trailers are not added to the request's headers.
        self.headers = []

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        self._since_body = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End the message, unless a body follows that is not parsed."""
        if self._missing:
            return
        self._reading = _FOLLOWING[self._reading]
        self._since_body = 0
        self._cancel_timer("read")
        self.scope["state"][ARRIVED] = True
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Be idle until the next message, or until the rest of this one is over."""
        self._idle_since = self.loop.time()
        super().on_response_complete()
        if self._reading in (_Reading.HEAD, _Reading.BODY):
            self._expect_message()

    def pause_writing(self) -> None:
        """Give the client some time to read its answer."""
        super().pause_writing()
        self._expect_reader()

    def resume_writing(self) -> None:
        """Go on: the client has read enough."""
        super().resume_writing()
        self._cancel_timer("write")

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection, also if its client has never read the last answer."""
        self.transport.abort()

    def shutdown(self) -> None:
        """Close, or finish what is being answered, within the time that a reader has."""
        super().shutdown()
        if self.transport.get_write_buffer_size():
            self._expect_reader()

    def _take_unparsed(self, data: bytes) -> None:
        self.on_body(data[: self._missing])
        self._missing = max(0, self._missing - len(data))
        if self._missing:
            self._expect_message()
        elif self._reading is not _Reading.NO_MORE:
            self.on_message_complete()

    def _expect_message(self) -> None:
        """Close the connection unless the message that has begun, or begins, ends in time."""
        self._start_timer("read", self._settings.read_timeout_ms, self._message_too_slow)

    def _message_too_slow(self) -> None:
        del self._timers["read"]
        if self._reading is _Reading.HEAD:
            self._refuse(ApiError(Cause.HEAD_TOO_SLOW))
        elif self.idle:
            self.transport.abort()
        # Otherwise the body is being read, which has a time limit of its own.

    def _expect_reader(self) -> None:
        self._start_timer("write", self._settings.write_timeout_ms, self.transport.abort)

    def _start_timer(self, name: str, milliseconds: float, act: Callable[[], None]) -> None:
        if name not in self._timers:
            self._timers[name] = self.loop.call_later(milliseconds / 1e3, act)

    def _cancel_timer(self, name: str) -> None:
        if timer := self._timers.pop(name, None):
            timer.cancel()

    def _refuse(self, error: ApiError) -> None:
        """Answer with an error and close the connection, behind the answers that come first."""
        if self.transport.is_closing():
            return
        in_body = self._reading in (_Reading.BODY, _Reading.UNPARSED_BODY)
        self._reading = _Reading.NO_MORE
        answered = in_body and self.cycle.response_started
        if not self.idle and (answered or not in_body):
            self._close_after_answer()
            return
        if in_body and not answered:
            # The application only sees a client that disconnects.
            self.scope["state"][REFUSED] = True
        if not answered:
            self.transport.write(self._records.refusal(error))
        self.transport.close()

    def _close_after_answer(self) -> None:
        self.cycle.keep_alive = False
        # uvicorn up to 0.52 would close without saying so.
        self.cycle.default_headers = [*self.cycle.default_headers, (b"connection", b"close")]

    def _make_room(self) -> bool:
        """Close an idle connection; return whether there is room for this one."""
        others: list[Any] = [one for one in self.connections if not one.transport.is_closing()]
        if len(others) <= self._max_connections:
            return True
        count = Counter(one._address for one in others)
        idle = [one for one in others if one.idle and one is not self]
        if idle:
            busiest = max(idle, key=lambda one: (count[one._address], -one._idle_since))
            busiest.transport.abort()
        return bool(idle)


def _require_small(size: int) -> None:
    if size > MAX_HEAD_BYTES:
        raise ApiError(Cause.HEAD_TOO_LARGE, limit=MAX_HEAD_BYTES)


def _explained(error: Exception) -> ApiError:
    """Return what to answer to data that could not be parsed, and log what is our fault."""
    reason = error.__context__ if isinstance(error, httptools.HttpParserCallbackError) else error
    if isinstance(reason, ApiError):
        return reason
    if isinstance(reason, httptools.HttpParserError):
        return ApiError(Cause.MALFORMED_HTTP)
    logger.error("failed on the head of a request", exc_info=reason)
    return ApiError(Cause.INTERNAL)
