"""Turns on the event loop: a client that asks for much at once does not make the others wait.

In every round of the loop each client may go on with one request; its others wait for the next
rounds. Another's request therefore waits for one or two of every client, and not for all that have
come before it. A client that has long been the only one needs no turns: rounds take time.
"""

import asyncio
import math
from collections import deque

ALONE_SECONDS = 10.0
"""A client is alone if there has been no other for so long."""


class Turns:
    """Says whose turn it is."""

    def __init__(self) -> None:
        self._last: str | None = None
        self._changed = -math.inf
        self._gone: set[str] = set()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    async def take(self, client: str) -> None:
        """Return when it is the turn of a request of ``client``, in the next round at the earliest.

        So every request that has arrived by now is counted before the first is solved: if there are
        too many, the last ones are told so at once.
        """
        await asyncio.sleep(0)
        if self._is_alone(client):
            return
        if client not in self._gone and client not in self._waiting:
            self._let_go(client)
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

    def _let_go(self, client: str) -> None:
        if not self._gone:
            asyncio.get_running_loop().call_soon(self._begin_round)
        self._gone.add(client)

    def _begin_round(self) -> None:
        self._gone.clear()
        for client, turns in list(self._waiting.items()):
            turn = turns.popleft()
            if not turns:
                del self._waiting[client]
            self._let_go(client)
            # Unless its request was given up.
            if not turn.done():
                turn.set_result(None)
