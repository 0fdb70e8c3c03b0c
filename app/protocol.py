"""uvicorn's HTTP protocol with bounds: heads in size and time, connections in number and rest.

uvicorn's own takes heads of any size, waits for them for ever, and waits likewise for clients that
do not read their answers. Here

- a head has at most :data:`MAX_HEAD_BYTES` and arrives within ``AIRSCHED_READ_TIMEOUT_MS``;
- headers behind the body (trailers) do not count as headers of the request, and are bounded alike;
- an upgrade to another protocol is declined by answering the request, with its body; nothing that
  follows on the connection is read as a request;
- an answer that is not read within ``AIRSCHED_WRITE_TIMEOUT_MS`` ends its connection;
- beyond ``AIRSCHED_MAX_CONNECTIONS`` the connection that has rested longest is closed, of the
  address that has most of them, so that a newcomer gets in.
"""

import asyncio
from asyncio.events import TimerHandle
from collections import Counter
from itertools import chain
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from app import metrics
from app.api.bodies import ARRIVED
from app.api.error_responses import raw_answer
from app.api.errors import Cause
from app.settings import Settings

MAX_HEAD_BYTES = 32 * 1024
"""Request line and headers; more than any proxy lets through."""


class _RefusedError(Exception):
    """Ends the parsing of a head."""


class BoundedProtocol(HttpToolsProtocol):
    """One connection."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        # The application's lifespan puts them there.
        self._settings: Settings = self.app_state["settings"]
        self._head_open = self._message_open = self._declining = self._finished = False
        self._since_body = 0
        self._refusal = Cause.MALFORMED_HTTP
        self._reading: TimerHandle | None = None
        self._writing: TimerHandle | None = None
        self._rests_since = 0.0

    @property
    def resting(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, in place of another connection if there are too many."""
        super().connection_made(transport)
        self._rests_since = self.loop.time()
        metrics.CONNECTIONS.set(len(self.connections))
        self._expect_message()
        if len(self.connections) > self._settings.max_connections and not self._make_room():
            self._refuse(Cause.TOO_MANY_CONNECTIONS)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        super().connection_lost(exc)
        metrics.CONNECTIONS.set(len(self.connections))
        self._stop_timers()

    def data_received(self, data: bytes) -> None:
        """Parse what has arrived, unless the connection is only kept to finish an answer."""
        if self._finished:
            return
        self._unset_keepalive_if_required()
        self._since_body += len(data)
        try:
            self.parser.feed_data(data)
            if self._message_open:
                # Some of it may be in the parser, which holds an unfinished header back.
                self._require_small(self._since_body)
        except httptools.HttpParserUpgrade as upgrade:
            self._decline_upgrade(data[upgrade.args[0] :])
        except (httptools.HttpParserError, _RefusedError):
            self._refuse(self._refusal)
        else:
            if self._message_open:
                self._expect_message()

    def on_message_begin(self) -> None:
        """Begin a head."""
        if self._declining:
            return
        super().on_message_begin()
        self._head_open = self._message_open = True

    def on_headers_complete(self) -> None:
        """Start answering."""
        if self._declining:
            return
        self._require_small(len(self.url) + sum(map(len, chain.from_iterable(self.headers))))
        self._head_open = False
        super().on_headers_complete()
        # Trailers go where nobody looks.
        self.headers = []
        if self.parser.should_upgrade():
            # Not just `keep_alive = False`: with that, uvicorn up to 0.52 closes without saying so.
            self.cycle.default_headers = [*self.cycle.default_headers, (b"connection", b"close")]

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        self._since_body = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End the message, unless its body has yet to be parsed."""
        if self.parser.should_upgrade() and self._framing():
            return
        self._message_open = False
        self._since_body = 0
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        self.scope["state"][ARRIVED] = True
        # Behind an upgrade there is no next request.
        self._finished = self._finished or self._declining
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Rest until the next message, or until the rest of this one is over."""
        self._rests_since = self.loop.time()
        super().on_response_complete()
        if self._message_open:
            self._expect_message()

    def pause_writing(self) -> None:
        """Give the client some time to read its answer."""
        super().pause_writing()
        self._expect_reader()

    def resume_writing(self) -> None:
        """Go on: the client has read enough."""
        super().resume_writing()
        if self._writing is not None:
            self._writing.cancel()
            self._writing = None

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection at rest, also if its client has never read the last answer."""
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            super().timeout_keep_alive_handler()

    def shutdown(self) -> None:
        """Close, or finish what is being answered, within the time that a reader has."""
        super().shutdown()
        if self.transport.get_write_buffer_size():
            self._expect_reader()

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: a client must not be able to fill the log."""

    def _should_upgrade_to_ws(self) -> bool:
        return False

    def _require_small(self, size: int) -> None:
        if size > MAX_HEAD_BYTES:
            self._refusal = Cause.HEAD_TOO_LARGE
            raise _RefusedError

    def _decline_upgrade(self, rest: bytes) -> None:
        """Parse the body of a request that asks for an upgrade, at which its parser has stopped."""
        framing = self._framing()
        if not framing:
            self._finished = True
            return
        self._declining = True
        self.parser = httptools.HttpRequestParser(self)
        self.parser.feed_data(b"POST / HTTP/1.1\r\n" + framing + b"\r\n")
        if rest:
            self.data_received(rest)

    def _framing(self) -> bytes:
        """Return the headers that say where the body ends."""
        return b"".join(
            b"%b: %b\r\n" % (name, value)
            for name, value in self.scope["headers"]
            if name in (b"content-length", b"transfer-encoding")
        )

    def _expect_message(self) -> None:
        """Close the connection unless the message that has begun, or begins, ends in time."""
        if self._reading is None:
            seconds = self._settings.read_timeout_ms / 1e3
            self._reading = self.loop.call_later(seconds, self._message_too_slow)

    def _message_too_slow(self) -> None:
        self._reading = None
        if self._head_open:
            self._refuse(Cause.HEAD_TOO_SLOW)
        elif self.resting:
            self.transport.abort()
        # Otherwise the body is being read, which has a time limit of its own.

    def _expect_reader(self) -> None:
        if self._writing is None:
            seconds = self._settings.write_timeout_ms / 1e3
            self._writing = self.loop.call_later(seconds, self.transport.abort)

    def _stop_timers(self) -> None:
        for timer in (self._reading, self._writing):
            if timer is not None:
                timer.cancel()
        self._reading = self._writing = None

    def _refuse(self, cause: Cause) -> None:
        """Answer with an error, unless an answer has begun, and close the connection."""
        if self.transport.is_closing():
            return
        self._finished = True
        metrics.REJECTED.labels(cause.slug).inc()
        if self.resting or not self.cycle.response_started:
            values = {"limit": MAX_HEAD_BYTES, "seconds": self._settings.read_timeout_ms / 1e3}
            self.transport.write(b"".join(raw_answer(cause, **values)))
        self.transport.close()

    def _make_room(self) -> bool:
        """Close a connection at rest; return whether there is room for this one."""
        open_now = [
            other
            for other in self.connections
            if isinstance(other, BoundedProtocol) and not other.transport.is_closing()
        ]
        if len(open_now) <= self._settings.max_connections:
            return True
        crowd = Counter(_address(other) for other in open_now)
        resting = [other for other in open_now if other is not self and other.resting]
        if not resting:
            return False
        longest = min(resting, key=lambda other: (-crowd[_address(other)], other._rests_since))
        longest.transport.abort()
        return True


def _address(connection: HttpToolsProtocol) -> str:
    return connection.client[0] if connection.client else ""
