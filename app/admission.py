"""Who may go on, and how far: limits per client, and turns on the event loop.

Limits: how many requests, and how many bytes, all clients together may hold, and which share of
them one client may, so that there is room for others.

Turns: in every pass of the event loop each client may go on with one request; its others wait for
the next passes. A request therefore waits for one or two of each other client, and not for all that
were sent before it. A client that has long been the only one needs no turns: passes take time.
"""

import asyncio
import math
from collections import deque
from collections.abc import Callable

ALONE_SECONDS = 10.0
"""How long there must have been no other client, for one to count as alone."""


class OverloadedError(Exception):
    """Base of the errors that refuse a request because there is too much to do."""


class ConcurrencyLimitError(OverloadedError):
    """The limit of requests in progress is reached."""


class MemoryLimitError(OverloadedError):
    """The limit of bytes of requests and answers is reached."""


class ClientShareError(OverloadedError):
    """The limit of one client is reached; the rest is left for others."""


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

    def take(self, client: str, amount: int = 1) -> None:
        """Let ``client`` hold ``amount`` more, or refuse it."""
        if self._total + amount > self._limit:
            raise self._refusal
        held = self._held.get(client, 0) + amount
        if held > self._limit_per_client:
            raise ClientShareError
        self._held[client] = held
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


class Holding:
    """What one request holds of :class:`Shares`, and may take more of, to the end of a block."""

    __slots__ = ("_amount", "_client", "_shares")

    def __init__(self, shares: Shares, client: str, amount: int = 0) -> None:
        self._shares, self._client, self._amount = shares, client, amount

    def __enter__(self) -> Callable[[int], None]:
        """Take the amount, or refuse it; return a function that takes more."""
        if self._amount:
            self._shares.take(self._client, self._amount)
        return self.take_more

    def __exit__(self, *error: object) -> None:
        """Give all back."""
        if self._amount:
            self._shares.give_back(self._client, self._amount)

    def take_more(self, amount: int) -> None:
        """Take ``amount`` more, or refuse it."""
        if amount:
            self._shares.take(self._client, amount)
            self._amount += amount


class Turns:
    """Says whose turn it is."""

    def __init__(self) -> None:
        self._last: str | None = None
        self._changed = -math.inf
        self._served: set[str] = set()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    async def take(self, client: str) -> None:
        """Return when it is the turn of a request of ``client``, in the next pass at the earliest.

        So every request that has arrived by now is counted before the first is solved: if there are
        too many, the last ones are told so at once.
        """
        await asyncio.sleep(0)
        if self._is_alone(client):
            return
        if client not in self._served and client not in self._waiting:
            self._serve(client)
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, deque()).append(turn)
        await turn

    def _is_alone(self, client: str) -> bool:
        now = asyncio.get_running_loop().time()
        if client != self._last:
            if self._last is not None:
                self._changed = now
            self._last = client
        return not self._waiting and now - self._changed > ALONE_SECONDS

    def _serve(self, client: str) -> None:
        if not self._served:
            asyncio.get_running_loop().call_soon(self._begin_pass)
        self._served.add(client)

    def _begin_pass(self) -> None:
        self._served.clear()
        for client, turns in list(self._waiting.items()):
            turn = turns.popleft()
            if not turns:
                del self._waiting[client]
            self._serve(client)
            # Unless its request was given up.
            if not turn.done():
                turn.set_result(None)
