"""Everything that can go wrong, one exception per kind.

::

    AirschedError
    ├── UnreachableError           there was no answer
    │   └── AnswerTimeoutError         none in time
    ├── ServiceDownError           none for as long as Patience or wait_until_ready waits
    ├── UnexpectedAnswerError      the answer breaks the contract
    └── ServiceError               the service answered with an error
        ├── InvalidRequestError        4xx: the request must change; .errors names the fields
        │   └── TooLargeError              413: the body is over the service's limit
        ├── AuthenticationError        401, 403: the key is missing or wrong
        ├── NotFoundError              404: this service has no such route
        ├── SlowRequestError           408: the request did not arrive in time
        ├── OverloadedError            429, 503: try again after .retry_after seconds
        └── DeadlineError              504: nothing to answer before the deadline

``retryable`` says whether repeating the call can help; ``cause`` tells the causes of one status
apart, such as ``key-missing`` and ``key-wrong``.

An argument that cannot be sent at all is a ValueError, before anything is sent.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

_TYPE_PREFIX = "urn:airsched:problem:"


class AirschedError(Exception):
    """Base of every error of this client.

    Attributes
    ----------
    retryable
        Whether the same call can succeed if it is repeated.
    retry_after
        Seconds to wait before that, if the service says so.
    request_id
        The request's name in the service's log; None if nothing was sent.
    """

    retryable: bool = False
    retry_after: float | None = None
    request_id: str | None = None


class UnreachableError(AirschedError):
    """There was no answer."""


class AnswerTimeoutError(UnreachableError):
    """There was no answer in time.

    Not retryable: the caller's time is spent, and a slow service would only get more to do.
    """


class ServiceDownError(AirschedError):
    """The service was down for longer than ``Patience`` or ``wait_until_ready`` waits."""


class UnexpectedAnswerError(AirschedError):
    """The answer breaks the contract; ``base_url`` may point to something else."""


class ServiceError(AirschedError):
    """The service answered with an error.

    Attributes
    ----------
    status
        HTTP status.
    detail
        What the service says about it.
    title, type
        The cause in words, and as an identifier (RFC 9457).
    errors
        For invalid requests, ``{"loc": path, "msg": words}`` for each wrong field.
    retry_after
        Seconds to wait before another try, if the service says so.
    retryable
        Whether the same call can succeed if it is repeated.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        title: str = "",
        type: str = "about:blank",
        errors: Sequence[Mapping[str, Any]] = (),
        retry_after: float | None = None,
        retryable: bool = False,
    ) -> None:
        # All of them, so that the error can be pickled.
        super().__init__(status, detail, title, type, errors, retry_after, retryable)
        self.status = status
        self.detail = detail
        self.title = title
        self.type = type
        self.errors = tuple(errors)
        self.retry_after = retry_after
        self.retryable = retryable

    @property
    def cause(self) -> str:
        """The short name in ``type``, such as ``queue-full``; empty if the service gave none."""
        return self.type.removeprefix(_TYPE_PREFIX) if self.type.startswith(_TYPE_PREFIX) else ""

    def __str__(self) -> str:
        return f"{self.status}: {self.detail}"


class InvalidRequestError(ServiceError):
    """The request must change before it can succeed."""


class TooLargeError(InvalidRequestError):
    """The body is over the service's limit."""


class AuthenticationError(ServiceError):
    """The key is missing or wrong: pass the right ``api_key``."""


class NotFoundError(ServiceError):
    """The service has no such route."""

    def __str__(self) -> str:
        return f"{super().__str__()} Is base_url right, and the service as new as this client?"


class SlowRequestError(ServiceError):
    """The request did not reach the service in time: the network is slow, or the body large."""


class OverloadedError(ServiceError):
    """The service has too much to do, or is starting or stopping."""


class DeadlineError(ServiceError):
    """The deadline passed before there was anything to answer."""


_KINDS: dict[int, type[ServiceError]] = {
    401: AuthenticationError,
    403: AuthenticationError,
    404: NotFoundError,
    408: SlowRequestError,
    413: TooLargeError,
    429: OverloadedError,
    501: InvalidRequestError,
    503: OverloadedError,
    504: DeadlineError,
}
_GATEWAY_RETRYABLE = (502, 503)
"""Statuses to repeat if a gateway sent them; the service's own errors say it themselves."""


def error_from(response: httpx.Response) -> AirschedError:
    """Return the exception for any answer that is not a success."""
    status = response.status_code
    problem = _problem(response)
    title, type = problem.get("title", response.reason_phrase), problem.get("type", "about:blank")
    target = response.headers.get("location", "")
    redirect = f"a redirect to {target}; is base_url right?" if target else ""
    detail = str(problem.get("detail") or redirect or response.text[:500] or title)
    from_service = str(type).startswith(_TYPE_PREFIX)
    if not from_service and status == httpx.codes.GATEWAY_TIMEOUT:
        late = AnswerTimeoutError(
            f"no answer from {response.url} before a gateway gave up: {detail}"
        )
        late.request_id = request_id_of(response)
        return late
    kind = _KINDS.get(status, InvalidRequestError if 400 <= status < 500 else ServiceError)
    error = kind(
        status,
        detail,
        title,
        type,
        problem.get("errors") or (),
        _seconds(response.headers.get("retry-after", "")),
        problem.get("retryable") is True if from_service else status in _GATEWAY_RETRYABLE,
    )
    error.request_id = request_id_of(response)
    return error


def request_id_of(response: httpx.Response) -> str | None:
    """Return the request's name in the service's log, as the answer or the request says it."""
    sent = response.request.headers.get("x-request-id")
    found: str | None = response.headers.get("x-request-id", sent)
    return found


def _problem(response: httpx.Response) -> dict[str, Any]:
    """Return the fields of a problem (RFC 9457), none if the body is something else."""
    try:
        problem = response.json()
    except ValueError:
        return {}
    return problem if isinstance(problem, dict) else {}


def _seconds(retry_after: str) -> float | None:
    """Read a ``Retry-After``: seconds, or a date."""
    if retry_after.isdecimal():
        return float(retry_after)
    try:
        date = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    # A date "-0000" carries no zone, and means UTC.
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max((date - datetime.now(UTC)).total_seconds(), 0.0)
