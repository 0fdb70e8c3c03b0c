"""What can go wrong, one exception a kind.

::

    AirschedError
    ├── UnreachableError       the service did not answer
    └── ServiceError           it answered with an error: .status, .detail, .errors
        ├── InvalidRequestError    400, 404, 405, 413, 415, 422: the request must change
        ├── AuthenticationError    401: a key is missing or wrong
        ├── OverloadedError        503: try again after .retry_after seconds
        └── DeadlineError          504: nothing to answer before the deadline
"""

from collections.abc import Mapping, Sequence
from typing import Any

import httpx


class AirschedError(Exception):
    """Base of every error of this client."""


class UnreachableError(AirschedError):
    """The service did not answer."""


class ServiceError(AirschedError):
    """The service answered with an error.

    Attributes
    ----------
    status
        HTTP status.
    detail
        The service's own words.
    errors
        For invalid requests, ``{"loc": path, "msg": words}`` for each wrong field.
    retry_after
        Seconds to wait before another try, where the service says so.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        errors: Sequence[Mapping[str, Any]] = (),
        retry_after: float | None = None,
    ) -> None:
        super().__init__(f"{status}: {detail}")
        self.status = status
        self.detail = detail
        self.errors = tuple(errors)
        self.retry_after = retry_after


class InvalidRequestError(ServiceError):
    """The request must change before it can succeed."""


class AuthenticationError(ServiceError):
    """A key is missing or wrong."""


class OverloadedError(ServiceError):
    """The service has more work than it takes, or is still starting."""


class DeadlineError(ServiceError):
    """The deadline passed before there was anything to answer."""


def error_from(response: httpx.Response) -> ServiceError:
    """Return the exception for an error answer."""
    status = response.status_code
    kind = {401: AuthenticationError, 503: OverloadedError, 504: DeadlineError}.get(
        status, InvalidRequestError if 400 <= status < 500 else ServiceError
    )
    try:
        problem = response.json()
        detail, errors = str(problem["detail"]), problem.get("errors") or ()
    except (ValueError, KeyError, TypeError, AttributeError):
        # Not the service itself, but something between.
        detail, errors = response.text[:500] or response.reason_phrase, ()
    seconds = response.headers.get("retry-after", "")
    return kind(status, detail, errors, float(seconds) if seconds.isdecimal() else None)
