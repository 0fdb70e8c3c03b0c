"""A transport that sends the head of an answer together with the first part of its body.

uvicorn writes them apart, and uvloop passes every write on at once: two calls of the operating
system, two packets, and a client that wakes up twice.
"""

import asyncio


class JoinedWrites:
    """What an answer that has a body needs of ``transport``; its first write is its head."""

    __slots__ = ("_head", "_transport")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._head: bytes | None = b""

    def write(self, data: bytes) -> None:
        """Keep the head; write anything else, behind the head if that is still here."""
        if self._head is None:
            self._transport.write(data)
        elif self._head:
            self._transport.write(self._head + data)
            self._head = None
        else:
            self._head = data

    def close(self) -> None:
        """Write a head that has had no body, and close."""
        if self._head:
            self._transport.write(self._head)
            self._head = None
        self._transport.close()

    def is_closing(self) -> bool:
        """Return whether the transport is being closed."""
        return self._transport.is_closing()
