"""What is noted of every request: its id, its metrics, its line in the log; and safe headers."""

import logging
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import perf_counter
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import metrics
from app.api.error_responses import SAFE_HEADERS, respond
from app.api.errors import Cause
from app.logs import logger

REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
"""Ids accepted from outside: nothing that could forge a line of the log."""

_METHODS = frozenset({"GET", "POST", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE"})


class Observation:
    """What is learnt about a request while it is answered; the routes fill it in."""

    __slots__ = ("active", "algorithm", "cause", "devices", "request_id", "solve_seconds")

    active: Sequence[int]
    """How many devices were scheduled, per round."""

    cause: str
    """Of an error: its slug in the table of errors."""

    def __init__(self, request_id: str) -> None:
        self.request_id = request_id
        self.algorithm = ""
        self.cause = ""
        self.devices: int | None = None
        self.active = ()
        self.solve_seconds: float | None = None

    def fields(self, status: int, seconds: float) -> dict[str, Any]:
        """Return what the log line says; what is not known is left out."""
        known = {
            "request_id": self.request_id,
            "status": status,
            "duration_ms": round(seconds * 1e3, 3),
        }
        if self.algorithm:
            known["algorithm"] = self.algorithm
        if self.cause:
            known["cause"] = self.cause
        if self.devices is not None:
            known["devices"] = self.devices
        if self.active:
            known["active"] = sum(self.active)
        if len(self.active) > 1:
            known["rounds"] = len(self.active)
        return known


class Records:
    """Counts requests, and writes their lines into the log.

    Parameters
    ----------
    routes
        Paths with metrics of their own; all others are counted together.
    quiet
        Those whose requests are logged only at level ``debug``: probes.
    """

    def __init__(self, routes: frozenset[str], quiet: frozenset[str]) -> None:
        self._routes, self._quiet = routes, quiet

    def add(
        self, method: str, path: str, observation: Observation, status: int, seconds: float
    ) -> None:
        """Note a request that has been answered."""
        route = path if path in self._routes else "other"
        metrics.request_counter(route, method if method in _METHODS else "other", status)()
        request, solve, active = metrics.observers(route, observation.algorithm)
        request(seconds)
        if observation.solve_seconds is not None:
            solve(observation.solve_seconds)
        for count in observation.active:
            active(count)
        level = logging.DEBUG if route in self._quiet else logging.INFO
        if logger.isEnabledFor(level):
            fields = observation.fields(status, seconds)
            # A path can hold anything: a line of the log stays one line.
            shown = ascii(path[:200])[1:-1]
            logger.log(level, "%s %s", method, shown, extra={"fields": fields})


class Observer:
    """Wraps an application.

    Parameters
    ----------
    annotate
        Called with what the log says about a request, when its answer begins.
    """

    def __init__(
        self,
        app: ASGIApp,
        records: Records,
        annotate: Callable[[Mapping[str, Any]], None] | None = None,
    ) -> None:
        self._app, self._records, self._annotate = app, records, annotate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, whatever happens inside."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = perf_counter()
        observation = scope["observation"] = Observation(request_id(scope["headers"]))
        # nginx's status for a client that left before its answer.
        status = 499

        async def observed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                identity = (b"x-request-id", observation.request_id.encode())
                message["headers"] = [*message["headers"], identity, *SAFE_HEADERS]
                if self._annotate is not None:
                    self._annotate(observation.fields(status, perf_counter() - started))
            await send(message)

        try:
            await self._app(scope, receive, observed)
        except Exception as error:
            logger.error(
                "failed on %s %s",
                scope["method"],
                scope["path"][:200],
                exc_info=error,
                extra={"fields": {"request_id": observation.request_id}},
            )
            if status == 499:
                response = respond(Request(scope), Cause.INTERNAL, error)
                await response(scope, receive, observed)
        finally:
            seconds = perf_counter() - started
            self._records.add(scope["method"], scope["path"], observation, status, seconds)


def request_id(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """Return the id that a request carries if it is acceptable, otherwise a new one."""
    for name, value in headers:
        if name == b"x-request-id" and REQUEST_ID.fullmatch(value):
            return str(value, "ascii")
    return f"{random.getrandbits(128):032x}"
