"""The protocol by itself, with a transport that goes nowhere."""

import asyncio

import uvicorn
from uvicorn.server import ServerState

from app.api.bodies import ARRIVED
from app.api.protocol import BoundedProtocol
from app.settings import Settings


class Nowhere(asyncio.Transport):
    def write(self, data):
        pass

    def close(self):
        pass

    def is_closing(self):
        return False


class Calm:
    def wants(self, url, headers):
        return False


def test_a_request_has_arrived_with_the_last_byte_of_its_body():
    scopes = []

    async def app(scope, receive, send):
        scopes.append(scope)
        while (await receive())["type"] != "http.disconnect":
            pass

    async def arrive():
        config = uvicorn.Config(app, lifespan="off", log_config=None)
        config.load()
        state = {"settings": Settings(), "shedder": Calm()}
        protocol = BoundedProtocol(config=config, server_state=ServerState(), app_state=state)
        protocol.connection_made(Nowhere())
        protocol.data_received(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab")
        await asyncio.sleep(0)
        before = ARRIVED in scopes[-1]["state"]
        protocol.data_received(b"cd")
        after = ARRIVED in scopes[-1]["state"]
        protocol.connection_lost(None)
        await asyncio.gather(*protocol.tasks)
        return before, after, ARRIVED in state

    assert asyncio.run(arrive()) == (False, True, False)
