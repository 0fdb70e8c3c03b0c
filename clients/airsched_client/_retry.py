"""When to ask again, and after how long.

Scheduling is stateless, so a request may be repeated whatever became of it. It is where that can
help: the connection failed or broke, or the service (503) or a gateway to it (502) could not take
the request just then. It is not where the same would happen again, 4xx, 500 and 504, nor after
waiting for an answer in vain: the caller's time is spent, and a slow service would only get more to
do.
"""

from dataclasses import dataclass
from random import uniform

import httpx

from airsched_client.errors import (
    AirschedError,
    AnswerTimeoutError,
    ServiceError,
    UnreachableError,
)

FIRST_WAIT = 0.1
"""Seconds: before retry n, from 0, a random time up to this times 2ⁿ is waited."""

LONGEST_WAIT = 10.0
"""Seconds: nothing is waited for longer; a service that asks for more is not asked again."""

_BROKEN_CONNECTION = (httpx.NetworkError, httpx.ConnectTimeout, httpx.RemoteProtocolError)
_UNAVAILABLE = (502, 503)


@dataclass(frozen=True)
class Retries:
    """How often a call is repeated at most."""

    most: int

    def __post_init__(self) -> None:
        if self.most < 0:
            raise ValueError(f"retries must be 0 or more, not {self.most}")

    def wait(self, error: httpx.RequestError | AirschedError, done: int) -> float:
        """Return the seconds to wait before repeating a call that failed with ``error``.

        Parameters
        ----------
        done
            How often it was repeated already.

        Raises
        ------
        AirschedError
            It is not to be repeated; this is its outcome.
        """
        longest = min(FIRST_WAIT * 2**done, LONGEST_WAIT)
        if isinstance(error, httpx.RequestError):
            if done < self.most and isinstance(error, _BROKEN_CONNECTION):
                return uniform(0, longest)
            raise _without_answer(error) from error
        if isinstance(error, ServiceError) and error.status in _UNAVAILABLE and done < self.most:
            asked = error.retry_after or 0.0
            if asked <= LONGEST_WAIT:
                # Not sooner than asked, and not all clients at once.
                return asked + uniform(0, longest)
        raise error


def _without_answer(error: httpx.RequestError) -> AirschedError:
    where, why = f"{error.request.url}", str(error) or type(error).__name__
    if isinstance(error, httpx.TimeoutException) and not isinstance(error, httpx.ConnectTimeout):
        return AnswerTimeoutError(f"no answer from {where} within the timeout: {why}")
    return UnreachableError(f"no answer from {where}: {why}")
