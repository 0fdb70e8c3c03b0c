"""Patience with a service that is away for a while."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from airsched_client.errors import AirschedError, ServiceError, UnreachableError

Answer = TypeVar("Answer")

_UNAVAILABLE = (502, 503, 504)


class ServiceAwayError(AirschedError):
    """The service stayed away for longer than there was patience."""


@dataclass(frozen=True)
class Patience:
    """How long to wait for the service, and how often to ask.

    Parameters
    ----------
    total
        Seconds to wait in all, for one answer.
    first, most
        Seconds before the second try; they double with every try up to ``most``. A service that
        says how long to wait (``Retry-After``) is given that.
    sleep
        Waits.
    tell
        Is told each time what is waited for.
    """

    total: float = 300.0
    first: float = 0.5
    most: float = 30.0
    sleep: Callable[[float], None] = time.sleep
    tell: Callable[[str], None] = lambda message: None

    def ask(self, question: Callable[[], Answer]) -> Answer:
        """Return the answer, asked for until there is one.

        Raises
        ------
        ServiceAwayError
            There was none in all the time.
        AirschedError
            The service refuses the request: waiting would not help.
        """
        pause, waited = self.first, 0.0
        while True:
            try:
                return question()
            except AirschedError as error:
                if not _may_pass(error):
                    raise
                if waited >= self.total:
                    raise ServiceAwayError(
                        f"the service stayed away for {waited:.0f} s: {error}"
                    ) from error
                asked_for = getattr(error, "retry_after", None) or 0.0
                seconds = min(max(pause, asked_for), self.total - waited)
                self.tell(f"{error}; asking again in {seconds:.1f} s")
            self.sleep(seconds)
            waited += seconds
            pause = min(2 * pause, self.most)


def _may_pass(error: AirschedError) -> bool:
    """Whether the same request can succeed later: nobody answered, or nobody could just then."""
    if isinstance(error, ServiceError):
        return error.status in _UNAVAILABLE
    return isinstance(error, UnreachableError)
