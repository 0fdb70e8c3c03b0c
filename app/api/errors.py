"""The table of errors: every answer of the service that is not a success.

To add an error, add a row and raise it: ``ApiError(Cause.…)`` in the API, or below it an exception
that the row lists in ``raised_by``. The handler (:mod:`.error_responses`), the OpenAPI document and
the client follow the table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, unique
from http import HTTPStatus
from typing import Any, Literal

from pydantic import ValidationError

from app.admission import ClientShareError, ConcurrencyLimitError, MemoryLimitError
from app.execution.lane import QueueFullError
from app.execution.processes import WorkerDiedError
from app.scheduling import DeadlineExceededError, InvalidProblemError
from app.warmup import CompilingError, NotReadyError

Route = Literal["schedule", "algorithms", "ready"]
"""The scheduling routes, ``/algorithms`` and ``/health/ready``: routes that document errors."""

_CLOSE = {"Connection": "close"}
_KEY = {"WWW-Authenticate": "Bearer", **_CLOSE}
_SOON = {"Retry-After": "1"}


@dataclass(frozen=True)
class Row:
    """What the service answers for one cause.

    Parameters
    ----------
    title
        The cause in a few words, the same every time.
    detail
        What happened and what to do. Placeholders are the values given to :class:`ApiError`, or
        ``error`` (the exception), ``method``, ``path`` and ``fields`` (the field errors in words).
    retryable
        Whether the same request can succeed if it is repeated.
    routes
        Which routes document it.
    headers
        Sent with it. Errors that leave a body unread close the connection.
    protects
        Whether it keeps the service from overload: such refusals have a metric of their own.
    raised_by
        Exceptions from outside the API, and statuses of the framework's own, that mean this.
    """

    status: HTTPStatus
    title: str
    detail: str
    retryable: bool = False
    routes: Sequence[Route] = ("schedule",)
    headers: Mapping[str, str] = field(default_factory=dict)
    protects: bool = False
    raised_by: Sequence[type[Exception] | int] = ()


@unique
class Cause(Enum):
    """The table of errors."""

    MALFORMED_BODY = Row(
        HTTPStatus.BAD_REQUEST,
        "The body cannot be decoded",
        "The body is not {format}: {reason}",
    )
    KEY_MISSING = Row(
        HTTPStatus.UNAUTHORIZED,
        "The key is missing",
        "This service needs a key: send the header Authorization: Bearer <key>.",
        routes=("schedule", "algorithms"),
        headers=_KEY,
    )
    KEY_WRONG = Row(
        HTTPStatus.UNAUTHORIZED,
        "The key is wrong",
        "The key in the header Authorization: Bearer <key> is wrong; ask the operator for a valid "
        "one.",
        routes=("schedule", "algorithms"),
        headers=_KEY,
    )
    NOT_FOUND = Row(
        HTTPStatus.NOT_FOUND,
        "There is no such path",
        "There is nothing at {path}; /docs lists the paths.",
        routes=(),
        raised_by=(404,),
    )
    METHOD_NOT_ALLOWED = Row(
        HTTPStatus.METHOD_NOT_ALLOWED,
        "The path does not take this method",
        "{method} is not allowed at {path}; the header Allow lists what is.",
        routes=(),
        raised_by=(405,),
    )
    MALFORMED_HTTP = Row(
        HTTPStatus.BAD_REQUEST,
        "This is not HTTP",
        "What was sent is not a request in HTTP/1.1.",
        headers=_CLOSE,
        protects=True,
    )
    HEAD_TOO_SLOW = Row(
        HTTPStatus.REQUEST_TIMEOUT,
        "The head took too long to arrive",
        "The request line and the headers did not arrive in time; send them at once, or raise "
        "AIRSCHED_READ_TIMEOUT_MS.",
        headers=_CLOSE,
        protects=True,
    )
    HEAD_TOO_LARGE = Row(
        HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
        "The head is too large",
        "The request line and the headers may have at most {limit} bytes together.",
        headers=_CLOSE,
        protects=True,
    )
    BODY_TOO_SLOW = Row(
        HTTPStatus.REQUEST_TIMEOUT,
        "The body took too long to arrive",
        "The body did not arrive within {seconds:g} s; send it faster, or raise "
        "AIRSCHED_READ_TIMEOUT_MS.",
        headers=_CLOSE,
    )
    BODY_TOO_LARGE = Row(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "The body is too large",
        "The body is over the limit of {limit} bytes; send packed arrays or MessagePack, or raise "
        "AIRSCHED_MAX_BODY_BYTES.",
        headers=_CLOSE,
    )
    TOO_MANY_VALUES = Row(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "The body has too many values",
        "The body has more than {limit} values; send arrays packed, as dtype, shape and data.",
    )
    UNSUPPORTED_MEDIA_TYPE = Row(
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        "The media type is not supported",
        "Content-Type must be application/json or application/msgpack, uncompressed, not {given}.",
        headers={"Accept": "application/json, application/msgpack", **_CLOSE},
    )
    INVALID_REQUEST = Row(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "The request is invalid",
        "{fields}",
        raised_by=(ValidationError, InvalidProblemError),
    )
    UNSUPPORTED_TRANSFER_CODING = Row(
        HTTPStatus.NOT_IMPLEMENTED,
        "The transfer coding is not supported",
        "Transfer-Encoding must be chunked, not {given}; send the body uncompressed.",
        headers=_CLOSE,
    )
    INTERNAL = Row(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "The service failed",
        "The service failed on this request; its log has the cause under the request's id.",
        routes=("schedule", "algorithms", "ready"),
    )
    SOLVER_DIED = Row(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "A solver process died",
        "The process that solved this request died; nothing else is affected. Repeat the request.",
        retryable=True,
        raised_by=(WorkerDiedError,),
    )
    QUEUE_FULL = Row(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "Too many solves are waiting",
        "The queue of solves is full; try again after Retry-After seconds.",
        retryable=True,
        headers=_SOON,
        protects=True,
        raised_by=(QueueFullError,),
    )
    CONCURRENCY_LIMIT = Row(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "Too many requests are in progress",
        "The service has reached its limit of requests in progress; try again after Retry-After "
        "seconds.",
        retryable=True,
        headers=_SOON,
        protects=True,
        raised_by=(ConcurrencyLimitError,),
    )
    CLIENT_SHARE = Row(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "This client has too many requests in progress",
        "You have reached the limit of requests, or of their bytes, that one client may have in "
        "progress; try again after Retry-After seconds.",
        retryable=True,
        headers=_SOON,
        protects=True,
        raised_by=(ClientShareError,),
    )
    MEMORY_LIMIT = Row(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "Too many bytes are in flight",
        "The service has reached its limit of bytes of requests and answers; try again after "
        "Retry-After seconds.",
        retryable=True,
        headers=_SOON,
        protects=True,
        raised_by=(MemoryLimitError,),
    )
    TOO_MANY_CONNECTIONS = Row(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "Too many connections are open",
        "The service has reached its limit of open connections; try again after Retry-After "
        "seconds.",
        retryable=True,
        headers={**_SOON, **_CLOSE},
        protects=True,
    )
    NOT_READY = Row(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "The service is starting or stopping",
        "{error}; try again after Retry-After seconds.",
        retryable=True,
        routes=("schedule", "ready"),
        headers=_SOON,
        raised_by=(NotReadyError,),
    )
    COMPILING = Row(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "The algorithm is being compiled",
        "{error}; try again after Retry-After seconds.",
        retryable=True,
        headers={"Retry-After": "5"},
        raised_by=(CompilingError,),
    )
    DEADLINE_PASSED = Row(
        HTTPStatus.GATEWAY_TIMEOUT,
        "The deadline passed",
        "The deadline passed before there was anything to answer; raise deadline_ms or choose a "
        "faster algorithm.",
        raised_by=(DeadlineExceededError,),
    )

    @property
    def slug(self) -> str:
        """The row's name as it is written in ``type``, in the log and in metrics."""
        return self.name.lower().replace("_", "-")

    @property
    def type(self) -> str:
        """The identifier that RFC 9457 asks for."""
        return f"urn:airsched:problem:{self.slug}"


class ApiError(Exception):
    """An error that the API itself finds.

    Parameters
    ----------
    errors
        For an invalid request, ``{"loc": path, "msg": words}`` for each wrong field.
    values
        Fill in the placeholders of the cause's detail.
    """

    def __init__(
        self, cause: Cause, *, errors: Sequence[Mapping[str, Any]] = (), **values: object
    ) -> None:
        super().__init__(cause.slug)
        self.cause = cause
        self.errors = errors
        self.values = values


def invalid(errors: Sequence[Mapping[str, Any]]) -> ApiError:
    """Return the error for a request with these ``{loc, msg}`` field errors."""
    return ApiError(Cause.INVALID_REQUEST, errors=errors)
