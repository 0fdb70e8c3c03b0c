"""Refuses what a full queue would refuse, before the request gets to the application.

Only while a queue is full. A look at the body tells which queue the request needs, if any: what
would run on the event loop is never refused here. Whatever cannot be told at a glance, and every
request that is wrong in any way, goes on to its route and is answered there.

A larger body has to be read and decoded in a thread first, but is refused before it is checked.

Most of what a refusal costs is then the connection's: refusing must be much cheaper than answering
if a crowd of clients is not to keep the service from its work (``python -m benchmarks overload``).
"""

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

from app import metrics
from app.api.algorithms import choose
from app.api.bodies import LARGE_BYTES, Body, Headers, decode, require_known_media_type
from app.api.error_responses import raw_answer
from app.api.errors import ApiError, Cause
from app.api.observer import Observation, Records, request_id
from app.api.requests import PlainRequest, RoundRequest
from app.api.security import client_of
from app.execution.executor import Outline
from app.service import Service


class Shedder:
    """Looks at requests while a queue is full.

    Parameters
    ----------
    requests
        Model of the body, by path.
    """

    def __init__(
        self, requests: Mapping[str, type[RoundRequest]], service: Service, records: Records
    ) -> None:
        self._requests = {path.encode(): request for path, request in requests.items()}
        self._service, self._records = service, records

    def wants(self, url: bytes, headers: Sequence[tuple[bytes, bytes]]) -> bool:
        """Return whether the body of a POST request should be shown to :meth:`refusal`."""
        if not self._service.executor.crowded or url not in self._requests:
            return False
        given = dict(headers)
        # For whom a proxy asks is found out later.
        return _is_small(given) and b"x-forwarded-for" not in given and b"expect" not in given

    def refusal(
        self,
        url: bytes,
        headers: Sequence[tuple[bytes, bytes]],
        address: tuple[str, int] | None,
        body: Body,
        started: float,
    ) -> bytes | None:
        """Return what to answer, as it goes over the wire; None if the request is to go on.

        Parameters
        ----------
        address
            Of the client.
        started
            When the request began.
        """
        given: Headers = dict(headers)
        try:
            client = client_of(address, given, self._service.settings)
            value = decode(body, require_known_media_type(given))
        # Its route says what is wrong with it.
        except ApiError:
            return None
        if not has_no_place(self._service, self._requests[url], value, client):
            return None
        cause = Cause.QUEUE_FULL
        observation = Observation(request_id(headers))
        observation.cause = cause.slug
        metrics.REJECTED.labels(cause.slug).inc()
        status, seconds = cause.value.status.value, perf_counter() - started
        self._records.add("POST", url.decode(), observation, status, seconds)
        head, rest = raw_answer(cause)
        return head + b"x-request-id: %b\r\n" % observation.request_id.encode() + rest


def _is_small(headers: Mapping[bytes, bytes]) -> bool:
    """Whether the body is announced, and decoded on the event loop."""
    length = headers.get(b"content-length", b"")
    return length.isdigit() and len(length) < 9 and int(length) <= LARGE_BYTES


def has_no_place(service: Service, request: type[RoundRequest], body: Any, client: str) -> bool:
    """Return whether what a decoded body asks for would be refused; if in doubt, it would not."""
    if not service.executor.crowded:
        return False
    try:
        outline = outline_of(request, body)
    except (ValueError, TypeError, LookupError, AttributeError):
        return False
    return service.executor.refuses(outline, client)


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
