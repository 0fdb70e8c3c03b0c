"""Waits while the service is down, so that a long experiment outlives a restart."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from airsched_client._retry import backoff
from airsched_client.errors import AirschedError, AnswerTimeoutError, DeadlineError

Answer = TypeVar("Answer")


class ServiceDownError(AirschedError):
    """The service was down for longer than :class:`Patience` allows."""


@dataclass(frozen=True)
class Patience:
    """Repeats a call while the service is down.

    It repeats what the client would (:mod:`airsched_client._retry`), with the same back-off, for as
    long as told. It also repeats a call that timed out or missed its deadline, as under load:
    unlike the client's caller, the loop has the time.

    Parameters
    ----------
    total
        Seconds to keep trying for one answer.
    clock, sleep
        Tell the time and wait, both in seconds.
    tell
        Called before each wait with the reason.
    """

    total: float = 300.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    tell: Callable[[str], None] = lambda message: None

    def ask(self, question: Callable[[], Answer]) -> Answer:
        """Return what ``question`` returns once it does not fail.

        Raises
        ------
        ServiceDownError
            It failed for as long as the patience lasted.
        AirschedError
            It failed in a way that repeating does not mend.
        """
        repeats, began = 0, self.clock()
        while True:
            try:
                return question()
            except AirschedError as error:
                if not (error.retryable or isinstance(error, (AnswerTimeoutError, DeadlineError))):
                    raise
                left = began + self.total - self.clock()
                if left <= 0:
                    message = f"the service was down for {self.total - left:.0f} s: {error}"
                    raise ServiceDownError(message) from error
                seconds = min(backoff(error, repeats), left)
                self.tell(f"{error}; trying again in {seconds:.1f} s")
            self.sleep(seconds)
            repeats += 1
