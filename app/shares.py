"""Something limited that clients hold for a while: places, or bytes of memory."""

from collections.abc import Callable


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

    def holding(self, client: str) -> "Holding":
        """Return a context in which ``client`` takes amounts; all is given back at its end."""
        return Holding(self, client)


class Holding:
    """What one request holds of :class:`Shares`. Not a generator: every request needs two."""

    __slots__ = ("_client", "_shares", "_taken")

    def __init__(self, shares: Shares, client: str) -> None:
        self._shares, self._client, self._taken = shares, client, 0

    def __enter__(self) -> Callable[[int], None]:
        """Return a function that takes an amount more."""
        return self.take

    def __exit__(self, *error: object) -> None:
        """Give all back."""
        if self._taken:
            self._shares.give_back(self._client, self._taken)

    def take(self, amount: int) -> None:
        """Take ``amount`` more, or refuse it."""
        if amount:
            self._shares.take(self._client, amount)
            self._taken += amount
