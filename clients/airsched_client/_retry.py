"""Which calls to repeat, and how long to wait before that.

Scheduling is stateless, so repeating a call is always safe. It is done where it can help: when the
connection failed or broke, and when the service marks its error as retryable, or a gateway answers
502 or 503 in its place. :class:`Retries` counts repeats; :class:`Patience` counts seconds. The
client asks one of them after every failure, and nothing else repeats a call.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import uniform
from typing import Protocol

import httpx

from airsched_client.errors import (
    AirschedError,
    AnswerTimeoutError,
    DeadlineError,
    ServiceDownError,
    UnreachableError,
)

FIRST_WAIT = 0.1
"""Seconds: before retry n, from 0, the wait is random and at most this times 2ⁿ."""

MAX_WAIT = 10.0
"""Seconds: no wait is longer, except where the service asks for it."""

MAX_SLOW = 2
"""How often :class:`Patience` repeats a call because it timed out or missed its deadline."""

_TOO_SLOW = (AnswerTimeoutError, DeadlineError)
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


class RetryRule(Protocol):
    """Decides whether a failed call is repeated."""

    def wait(self, failures: Sequence[AirschedError], elapsed: float) -> float:
        """Return the seconds to wait before the next try, or raise the outcome of the call.

        Parameters
        ----------
        failures
            Why the tries so far failed, in order; at least one.
        elapsed
            Seconds since the first try began.
        """


@dataclass(frozen=True)
class Retries:
    """Repeats a call up to ``limit`` times.

    A call is not repeated if the service asks for a longer wait than :data:`MAX_WAIT`.
    """

    limit: int

    def __post_init__(self) -> None:
        if self.limit < 0:
            raise ValueError(f"retries must be 0 or more, not {self.limit}")

    def wait(self, failures: Sequence[AirschedError], elapsed: float) -> float:
        """Return the seconds to wait, or raise the last failure."""
        failure, repeats = failures[-1], len(failures) - 1
        soon = (failure.retry_after or 0.0) <= MAX_WAIT
        if failure.retryable and soon and repeats < self.limit:
            return backoff(failure, repeats)
        raise failure


@dataclass(frozen=True)
class Patience:
    """Repeats a call while the service is down, so that a long run survives a restart.

    A call that times out or misses its deadline is repeated only :data:`MAX_SLOW` times for that:
    the service may have been busy, but a request that is too slow by itself fails every time.

    Parameters
    ----------
    total
        Seconds to keep trying for one answer.
    tell
        Called before each wait with the reason.
    """

    total: float = 300.0
    tell: Callable[[str], None] = lambda message: None

    def wait(self, failures: Sequence[AirschedError], elapsed: float) -> float:
        """Return the seconds to wait, or raise the last failure or :class:`ServiceDownError`."""
        failure = failures[-1]
        slow = sum(isinstance(each, _TOO_SLOW) for each in failures)
        once_more = isinstance(failure, _TOO_SLOW) and slow <= MAX_SLOW
        if not (failure.retryable or once_more):
            raise failure
        left = self.total - elapsed
        if left <= 0:
            down = ServiceDownError(f"the service was down for {elapsed:.0f} s: {failure}")
            down.request_id = failure.request_id
            raise down from failure
        seconds = min(backoff(failure, len(failures) - 1), left)
        self.tell(f"{failure}; trying again in {seconds:.1f} s")
        return seconds


def rule_of(retries: "int | RetryRule") -> RetryRule:
    """Return a rule as it is, or that of a number of retries."""
    return Retries(retries) if isinstance(retries, int) else retries


def failure_of(error: httpx.RequestError | AirschedError) -> AirschedError:
    """Convert httpx errors to :class:`AirschedError`; return others unchanged."""
    if isinstance(error, AirschedError):
        return error
    where, why = f"{error.request.url}", str(error) or type(error).__name__
    if isinstance(error, httpx.TimeoutException) and not isinstance(error, httpx.ConnectTimeout):
        failure: UnreachableError = AnswerTimeoutError(
            f"no answer from {where} within the timeout: {why}"
        )
    else:
        failure = UnreachableError(f"no answer from {where}: {why}")
        failure.retryable = isinstance(error, _BROKEN_CONNECTION)
    failure.request_id = error.request.headers.get("x-request-id")
    failure.__cause__ = error
    return failure
