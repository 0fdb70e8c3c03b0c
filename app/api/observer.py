"""What is noted of every request: its id, its times, its metrics, its line in the log.

And what every answer carries: that id, ``Server-Timing`` and safe headers.
"""

import logging
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from time import perf_counter
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import metrics
from app.api.error_responses import answer_to, raw_answer
from app.api.errors import ApiError, Cause
from app.api.wire import Headers
from app.deadline import ClientDisconnectedError
from app.logs import logger
from app.scheduling import Frontier, Schedule

SAFE_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]
"""Sent with every answer."""

REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
"""Ids accepted from outside: nothing that could forge a line of the log."""

CLIENT_DISCONNECTED = 499
"""nginx's status for a client that left before its answer."""

REFUSED = "refused"
"""In the state of a request: the protocol has refused its body, and counted it."""

_METHODS = frozenset({"GET", "POST", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE"})


class Observation:
    """One request: its headers, and what is learnt about it while it is answered.

    Parameters
    ----------
    headers
        As received.
    """

    __slots__ = (
        "_begun",
        "active",
        "algorithm",
        "cause",
        "devices",
        "headers",
        "request_id",
        "stages",
        "started",
    )

    def __init__(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        self.headers: Headers = dict(headers)
        given = self.headers.get(b"x-request-id")
        valid = given is not None and REQUEST_ID.fullmatch(given)
        self.request_id = valid[0].decode() if valid else f"{random.getrandbits(128):032x}"
        self.started = perf_counter()
        self._begun: list[tuple[str, float]] = []
        self.stages: dict[str, float] = {}
        self.algorithm = ""
        self.cause: Cause | None = None
        self.devices: int | None = None
        self.active: Sequence[int] = ()

    def begin(self, stage: str) -> None:
        """Begin a stage of the answer; the one before ends."""
        self._begun.append((stage, perf_counter()))

    def found(self, found: Sequence[Schedule] | Frontier) -> None:
        """End the stage of solving: note how many devices were scheduled, per round."""
        self.begin("encode")
        schedules = (
            [point.schedule for point in found.points] if isinstance(found, Frontier) else found
        )
        self.active = [schedule.active.size for schedule in schedules]

    def answer_headers(self) -> list[tuple[bytes, bytes]]:
        """End the last stage, and return what is added to every answer's headers."""
        headers = [(b"x-request-id", self.request_id.encode()), *SAFE_HEADERS]
        if self._begun:
            self.begin("")
            self.stages = {name: end - at for (name, at), (_, end) in pairwise(self._begun)}
            timing = ", ".join([f"{name};dur={1e3 * s:.3f}" for name, s in self.stages.items()])
            headers.append((b"server-timing", timing.encode()))
        return headers

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
            known["cause"] = self.cause.slug
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

    def add(self, method: str, path: str, observation: Observation, status: int) -> None:
        """Note a request that has been answered."""
        seconds = perf_counter() - observation.started
        route = path if path in self._routes else "other"
        metrics.request_counter(route, method if method in _METHODS else "other", status)()
        request, solve, active = metrics.observers(route, observation.algorithm)
        request(seconds)
        if "encode" in observation.stages:
            solve(observation.stages["solve"])
        for count in observation.active:
            active(count)
        if observation.cause is not None and observation.cause.value.protects:
            metrics.REJECTED.labels(observation.cause.slug).inc()
        level = logging.DEBUG if route in self._quiet else logging.INFO
        if logger.isEnabledFor(level):
            fields = observation.fields(status, seconds)
            # A path can hold anything: a line of the log stays one line.
            shown = ascii(path[:200])[1:-1]
            logger.log(level, "%s %s", method, shown, extra={"fields": fields})

    def refusal(self, error: ApiError) -> bytes:
        """Note a request that does not get to the application; return its answer, head and all."""
        observation = Observation(())
        observation.cause = error.cause
        self.add("-", "-", observation, error.cause.value.status)
        return raw_answer(error, observation.answer_headers())


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
        observation = scope["observation"] = Observation(scope["headers"])
        status = CLIENT_DISCONNECTED

        async def observed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *observation.answer_headers()]
                if self._annotate is not None:
                    seconds = perf_counter() - observation.started
                    self._annotate(observation.fields(status, seconds))
            await send(message)

        try:
            await self._app(scope, receive, observed)
        except ClientDisconnectedError:
            pass  # Nobody is left to answer.
        except Exception as error:
            response = answer_to(scope, error)
            if status == CLIENT_DISCONNECTED:
                await response(scope, receive, observed)
        finally:
            if REFUSED not in scope.get("state", ()):
                self._records.add(scope["method"], scope["path"], observation, status)
