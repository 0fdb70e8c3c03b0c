"""The deadline of one request: when it ends, who asks, and the flag that stops its search.

Made once, when the request has arrived, and passed down to everything that can take long.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

import numpy as np

from app.scheduling import DeadlineExceededError
from app.scheduling.types import MaskArray

EARLY_SECONDS = 0.2
"""How long before the end a search is told to stop, so that its answer is in time; a fifth of its
time if that is less."""

LATE_SECONDS = 0.05
"""How long after the end an answer is still waited for."""


class ClientDisconnectedError(Exception):
    """The client closed the connection before there was an answer."""


@dataclass(frozen=True, eq=False)
class Deadline:
    """By when a request is to be answered.

    Parameters
    ----------
    seconds
        How long after the request has arrived it ends.
    client
        Who asks: a key, or else an address.
    disconnected
        Waits until the client has disconnected; None if that cannot be known.
    arrived
        When the request had arrived, as :func:`time.monotonic` tells it; now if left out.
    stop
        (1,) mask that searches look at.
    """

    seconds: float
    client: str = ""
    disconnected: Callable[[], Awaitable[None]] | None = None
    arrived: float = field(default_factory=time.monotonic)
    stop: MaskArray = field(default_factory=lambda: np.zeros(1, np.bool_))

    def within(self, milliseconds: float | None) -> "Deadline":
        """Return this deadline, or the earlier one that the request asks for."""
        if milliseconds is None or milliseconds >= self.seconds * 1e3:
            return self
        return replace(self, seconds=milliseconds / 1e3)

    @property
    def search_ends(self) -> float:
        """When the search has to stop, as :func:`time.monotonic` tells it."""
        return self.arrived + self.seconds - min(EARLY_SECONDS, self.seconds / 5)

    @property
    def search_seconds(self) -> float:
        """How long a search may still take, at least 0."""
        return max(0.0, self.search_ends - time.monotonic())

    @property
    def last_seconds(self) -> float:
        """How long an answer is still waited for, at least 0."""
        return max(0.0, self.arrived + self.seconds + LATE_SECONDS - time.monotonic())

    def require_time(self) -> None:
        """Raise :class:`DeadlineExceededError` if it has passed."""
        if time.monotonic() > self.arrived + self.seconds:
            raise DeadlineExceededError

    def stop_search(self) -> None:
        """Set the flag."""
        self.stop.fill(True)
