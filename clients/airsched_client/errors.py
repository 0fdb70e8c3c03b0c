"""What can go wrong, one exception a kind.

::

    AirschedError
    ├── UnreachableError           there was no answer
    │   └── AnswerTimeoutError         none within the timeout
    ├── UnexpectedAnswerError      the answer is not what the contract says
    └── ServiceError               the service answered with an error
        ├── InvalidRequestError        4xx: the request must change; .errors names the fields
        │   └── TooLargeError              413: the body is over the service's limit
        ├── AuthenticationError        401, 403: a key is missing or wrong
        ├── NotOfferedError            404: this service has no such route
        ├── OverloadedError            503: try again after .retry_after seconds
        └── DeadlineError              504: nothing to answer before the deadline

An argument that cannot be sent at all is a ValueError, before anything is sent.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx


class AirschedError(Exception):
    """Base of every error of this client."""


class UnreachableError(AirschedError):
    """There was no answer."""


class AnswerTimeoutError(UnreachableError):
    """There was no answer within the timeout."""


class UnexpectedAnswerError(AirschedError):
    """The answer is not what the contract says; ``base_url`` may be that of something else."""


class ServiceError(AirschedError):
    """The service answered with an error.

    Attributes
    ----------
    status
        HTTP status.
    detail
        The service's own words.
    title, type
        The kind of problem in words, and as an identifier (RFC 9457).
    errors
        For invalid requests, ``{"loc": path, "msg": words}`` for each wrong field.
    retry_after
        Seconds to wait before another try, where the service says so.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        title: str = "",
        type: str = "about:blank",
        errors: Sequence[Mapping[str, Any]] = (),
        retry_after: float | None = None,
    ) -> None:
        # All of them, so that the error can be pickled.
        super().__init__(status, detail, title, type, errors, retry_after)
        self.status = status
        self.detail = detail
        self.title = title
        self.type = type
        self.errors = tuple(errors)
        self.retry_after = retry_after

    def __str__(self) -> str:
        return f"{self.status}: {self.detail}"


class InvalidRequestError(ServiceError):
    """The request must change before it can succeed."""


class TooLargeError(InvalidRequestError):
    """The body is over the service's limit."""


class AuthenticationError(ServiceError):
    """A key is missing or wrong: pass the right ``api_key``."""


class NotOfferedError(ServiceError):
    """The service has no such route."""

    def __str__(self) -> str:
        return f"{super().__str__()} Is base_url right, and the service as new as this client?"


class OverloadedError(ServiceError):
    """The service has more work than it takes, or is still starting."""


class DeadlineError(ServiceError):
    """The deadline passed before there was anything to answer."""


_KINDS: dict[int, type[ServiceError]] = {
    401: AuthenticationError,
    403: AuthenticationError,
    404: NotOfferedError,
    413: TooLargeError,
    503: OverloadedError,
    504: DeadlineError,
}


def error_from(response: httpx.Response) -> ServiceError:
    """Return the exception for any answer that is not a success."""
    status, title = response.status_code, response.reason_phrase
    kind = _KINDS.get(status, InvalidRequestError if 400 <= status < 500 else ServiceError)
    retry_after = _seconds(response.headers.get("retry-after", ""))
    try:
        problem = response.json()
        detail, errors = str(problem["detail"]), tuple(problem.get("errors") or ())
        title, name = problem.get("title", title), problem.get("type", "about:blank")
    except (ValueError, KeyError, TypeError, AttributeError):
        # Not the service itself, but something between.
        target = response.headers.get("location", "")
        words = f"a redirect to {target}; is base_url right?" if target else response.text[:500]
        return kind(status, words or title, title, retry_after=retry_after)
    return kind(status, detail, title, name, errors, retry_after)


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
