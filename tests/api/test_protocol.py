"""The protocol by itself, with a transport that goes nowhere."""

import asyncio

import uvicorn
from uvicorn.server import ServerState

from app.api.bodies import ARRIVED
from app.api.observer import Records
from app.protocol import MAX_HEAD_BYTES, BoundedProtocol
from app.settings import Settings

STATE = {"settings": Settings(), "records": Records(frozenset(), frozenset())}


class Nowhere(asyncio.Transport):
    def __init__(self):
        super().__init__()
        self.written, self.closed = [], False

    def write(self, data):
        self.written.append(bytes(data))

    def close(self):
        self.closed = True

    def is_closing(self):
        return self.closed


def connected(app, state):
    config = uvicorn.Config(app, lifespan="off", log_config=None)
    config.load()
    protocol = BoundedProtocol(config=config, server_state=ServerState(), app_state=state)
    transport = Nowhere()
    protocol.connection_made(transport)
    return protocol, transport


def test_a_request_has_arrived_with_the_last_byte_of_its_body():
    scopes = []

    async def app(scope, receive, send):
        scopes.append(scope)
        while (await receive())["type"] != "http.disconnect":
            pass

    async def arrive():
        state = dict(STATE)
        protocol, _ = connected(app, state)
        protocol.data_received(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab")
        await asyncio.sleep(0)
        before = ARRIVED in scopes[-1]["state"]
        protocol.data_received(b"cd")
        after = ARRIVED in scopes[-1]["state"]
        protocol.connection_lost(None)
        await asyncio.gather(*protocol.tasks)
        return before, after, ARRIVED in state

    assert asyncio.run(arrive()) == (False, True, False)


def written(request, messages):
    """Return what is written in answer to ``request``, write by write, and whether it closes."""

    async def app(scope, receive, send):
        await receive()
        for message in messages:
            await send(dict(message))

    async def answer():
        protocol, transport = connected(app, STATE)
        protocol.data_received(request)
        await asyncio.gather(*protocol.tasks)
        closed = transport.closed
        protocol.connection_lost(None)
        return transport.written, closed

    return asyncio.run(answer())


def test_a_refusal_that_closes_the_connection_says_so():
    head = b"GET /" + b"a" * MAX_HEAD_BYTES + b" HTTP/1.1\r\nHost: a\r\n\r\n"
    writes, closed = written(head, [])
    assert closed
    (refusal,) = writes
    assert refusal.startswith(b"HTTP/1.1 431 ")
    assert refusal.count(b"\r\nconnection: close\r\n") == 1
