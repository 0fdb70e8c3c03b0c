"""Something limited that clients hold for a while: places, or bytes of memory."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class OverloadedError(Exception):
    """Base of the errors that refuse a request because there is too much to do."""


class ConcurrencyLimitError(OverloadedError):
    """As many requests are in progress as may be."""


class MemoryLimitError(OverloadedError):
    """As many bytes of requests and answers are held as may be."""


class ClientShareError(OverloadedError):
    """The client holds as much as one client may; the rest is left for others."""


class Shares:
    """Counts what each client holds.

    Parameters
    ----------
    limit
        Most that all clients may hold together.
    share
        Largest part of it that one client may hold.
    refusal
        Raised at the limit.
    on_change
        Called with the total when it changes.
    """

    def __init__(
        self,
        limit: int,
        share: float,
        refusal: type[OverloadedError],
        on_change: Callable[[float], None] = lambda total: None,
    ) -> None:
        self._limit = limit
        self._limit_per_client = max(1, int(share * limit))
        self._refusal = refusal
        self._on_change = on_change
        self._total = 0
        self._held: dict[str, int] = {}

    def require_room(self, client: str, amount: int = 1) -> int:
        """Return what ``client`` would hold with ``amount`` more, or refuse it."""
        if self._total + amount > self._limit:
            raise self._refusal
        held = self._held.get(client, 0) + amount
        if held > self._limit_per_client:
            raise ClientShareError
        return held

    def take(self, client: str, amount: int = 1) -> None:
        """Let ``client`` hold ``amount`` more, or refuse it."""
        self._held[client] = self.require_room(client, amount)
        self._total += amount
        self._on_change(self._total)

    def give_back(self, client: str, amount: int = 1) -> None:
        """Take ``amount`` off what ``client`` holds."""
        held = self._held[client] - amount
        if held:
            self._held[client] = held
        else:
            del self._held[client]
        self._total -= amount
        self._on_change(self._total)

    @contextmanager
    def holding(self, client: str) -> Iterator[Callable[[int], None]]:
        """Yield a function that takes an amount more for ``client``; give all back at the end."""
        taken = 0

        def take(amount: int) -> None:
            nonlocal taken
            if amount:
                self.take(client, amount)
                taken += amount

        try:
            yield take
        finally:
            if taken:
                self.give_back(client, taken)
