"""Which calls to repeat, and how long to wait before that.

Scheduling is stateless, so repeating a call is always safe. It is done where it can help: when the
connection failed or broke, and when the service marks its error as retryable, or a gateway answers
502 or 503 in its place.
"""

from dataclasses import dataclass
from random import uniform

import httpx

from airsched_client.errors import AirschedError, AnswerTimeoutError, UnreachableError

FIRST_WAIT = 0.1
"""Seconds: before retry n, from 0, the wait is random and at most this times 2ⁿ."""

MAX_WAIT = 10.0
"""Seconds: no wait is longer, except where the service asks for it."""

_BROKEN_CONNECTION = (httpx.NetworkError, httpx.ConnectTimeout, httpx.RemoteProtocolError)


def backoff(error: AirschedError, repeats: int) -> float:
    """Return the seconds to wait before repeating a call that failed with ``error``.

    Parameters
    ----------
    repeats
        How often it has been repeated already.
    """
    longest = min(FIRST_WAIT * 2.0 ** min(repeats, 50), MAX_WAIT)
    # Not sooner than the service asks, and not all clients at once.
    return (error.retry_after or 0.0) + uniform(0, longest)


@dataclass(frozen=True)
class Retries:
    """Repeats a call up to ``limit`` times."""

    limit: int

    def __post_init__(self) -> None:
        if self.limit < 0:
            raise ValueError(f"retries must be 0 or more, not {self.limit}")

    def wait(self, error: httpx.RequestError | AirschedError, repeats: int) -> float:
        """Return the seconds to wait before repeating a call that failed with ``error``.

        Raises
        ------
        AirschedError
            The call is not to be repeated; this is its outcome. Among others, the service asks for
            a longer wait than :data:`MAX_WAIT`.
        """
        failure = _without_answer(error) if isinstance(error, httpx.RequestError) else error
        patient = (failure.retry_after or 0.0) <= MAX_WAIT
        if failure.retryable and patient and repeats < self.limit:
            return backoff(failure, repeats)
        if failure is error:
            raise failure
        raise failure from error


def _without_answer(error: httpx.RequestError) -> UnreachableError:
    where, why = f"{error.request.url}", str(error) or type(error).__name__
    if isinstance(error, httpx.TimeoutException) and not isinstance(error, httpx.ConnectTimeout):
        return AnswerTimeoutError(f"no answer from {where} within the timeout: {why}")
    failure = UnreachableError(f"no answer from {where}: {why}")
    failure.retryable = isinstance(error, _BROKEN_CONNECTION)
    return failure
