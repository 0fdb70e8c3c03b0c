"""The protocol by itself, with a transport that goes nowhere."""

import asyncio
import inspect
from functools import partial

import pytest
import uvicorn
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle
from uvicorn.server import ServerState

from app.api.bodies import ARRIVED, LARGE_BYTES
from app.api.observer import Records
from app.protocol import MAX_HEAD_BYTES, BoundedProtocol
from app.settings import Settings

STATE = {
    "settings": Settings(read_timeout_ms=200),
    "records": Records(frozenset(), frozenset()),
    "max_connections": 100,
}


class Nowhere(asyncio.Transport):
    def __init__(self):
        super().__init__()
        self.written, self.closed = [], False

    def write(self, data):
        self.written.append(bytes(data))

    def close(self):
        self.closed = True

    abort = close

    def pause_reading(self):
        pass

    resume_reading = pause_reading

    def is_closing(self):
        return self.closed

    def get_write_buffer_size(self):
        return 0


def connected(app, state):
    config = uvicorn.Config(
        app, lifespan="off", log_config=None, interface="asgi3", timeout_keep_alive=0.05
    )
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


HEAD = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]}
BODY = {"type": "http.response.body", "body": b"ok"}
POST = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab"


async def ok(scope, receive, send, solve_seconds=0.0):
    while (await receive()).get("more_body"):
        pass
    await asyncio.sleep(solve_seconds)
    await send(dict(HEAD))
    await send(dict(BODY))


@pytest.mark.parametrize("requests", [1, 3])
def test_head_and_body_of_an_answer_are_sent_together(requests):
    async def run():
        protocol, transport = connected(ok, STATE)
        protocol.data_received(requests * POST)
        await asyncio.sleep(0.05)
        protocol.connection_lost(None)
        return transport.written

    written = asyncio.run(run())
    assert b"".join(written).count(b"HTTP/1.1 200 ") == requests
    assert len(written) <= requests


def test_a_connection_that_is_aborted_has_sent_its_answer():
    async def run():
        protocol, transport = connected(ok, STATE)
        completed = protocol.on_response_complete
        protocol.on_response_complete = lambda: (completed(), protocol.transport.abort())
        protocol.data_received(POST)
        await asyncio.sleep(0.05)
        return b"".join(transport.written)

    assert asyncio.run(run()).endswith(b"ok")


def test_pieces_of_a_large_answer_do_not_pile_up_before_the_transport():
    sent = []

    async def run():
        async def app(scope, receive, send):
            await send(dict(HEAD, headers=[(b"content-length", b"%d" % (2 * LARGE_BYTES))]))
            for more in (True, False):
                await send(dict(BODY, body=b"x" * LARGE_BYTES, more_body=more))
                sent.append(sum(map(len, transport.written)))

        protocol, transport = connected(app, STATE)
        protocol.data_received(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        await asyncio.sleep(0.05)
        protocol.connection_lost(None)

    asyncio.run(run())
    assert sent[0] > LARGE_BYTES
    assert sent[1] - sent[0] == LARGE_BYTES


def answered(*parts, solve_seconds=0.0, wait_seconds=0.0):
    """Send ``parts`` to an application; return what is written, and whether the connection closes.

    Parameters
    ----------
    solve_seconds
        How long the application takes.
    wait_seconds
        How long to look on afterwards.
    """

    async def run():
        protocol, transport = connected(partial(ok, solve_seconds=solve_seconds), STATE)
        for part in parts:
            protocol.data_received(part)
            await asyncio.sleep(0.01)
        await asyncio.gather(*protocol.tasks)
        await asyncio.sleep(wait_seconds)
        closed = transport.closed
        protocol.connection_lost(None)
        return b"".join(transport.written), closed

    return asyncio.run(run())


def test_a_refusal_that_closes_the_connection_says_so():
    head = b"GET /" + b"a" * MAX_HEAD_BYTES + b" HTTP/1.1\r\nHost: a\r\n\r\n"
    answer, closed = answered(head)
    assert closed
    assert answer.startswith(b"HTTP/1.1 431 ")
    assert answer.count(b"\r\nconnection: close\r\n") == 1


@pytest.mark.parametrize("unfinished", [b"GET / HT", b"\x16\x03\r\n\r\n"])
def test_what_cannot_be_read_behind_a_request_does_not_cost_that_request_its_answer(unfinished):
    """The read timeout passes while the first request is solved."""
    answer, closed = answered(POST, unfinished, solve_seconds=0.4)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.count(b"HTTP/1.1 ") == 1
    assert b"connection: close" in answer
    assert closed


def test_empty_lines_do_not_keep_a_connection_open():
    _, closed = answered(POST, b"\r\n", b"\r\n", wait_seconds=0.2)
    assert closed


def test_a_defect_in_a_callback_of_the_parser_is_logged_and_a_500(monkeypatch, caplog):
    def broken(size):
        raise OverflowError("a hidden reason")

    monkeypatch.setattr("app.protocol._require_small", broken)
    answer, closed = answered(POST)
    assert closed
    assert answer.startswith(b"HTTP/1.1 500 ")
    assert b"urn:airsched:problem:internal" in answer
    assert b"hidden" not in answer
    assert "a hidden reason" in caplog.text


@pytest.mark.parametrize("url", [b"http://host", b"x:443", b"/\xff"])
def test_a_url_without_a_path_is_not_our_fault(url, caplog):
    answer, _ = answered(b"GET " + url + b" HTTP/1.1\r\nHost: a\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert not caplog.records


@pytest.mark.parametrize(("version", "continued"), [(b"1.1", True), (b"1.0", False)])
def test_only_http_1_1_is_told_to_continue(version, continued):
    answer, _ = answered(
        b"POST / HTTP/" + version + b"\r\nHost: a\r\nExpect: 100-continue\r\n"
        b"Content-Length: 2\r\n\r\n",
        b"ab",
    )
    assert answer.startswith(b"HTTP/1.1 100 ") is continued
    assert b"HTTP/1.1 200 " in answer


def test_a_declined_upgrade_is_answered_with_its_body_and_closed():
    upgrade = b"Host: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n"
    for parts in (
        [POST.replace(b"Host: a\r\n", upgrade) + b"GET / HTTP/1.1\r\n\r\n"],
        [POST.replace(b"Host: a\r\n", upgrade)[:-1], b"b", b"GET / HTTP/1.1\r\n\r\n"],
    ):
        answer, closed = answered(*parts)
        assert answer.count(b"HTTP/1.1 ") == 1
        assert b"connection: close" in answer
        assert closed


def test_uvicorn_has_the_parts_that_the_protocol_uses():
    """A clear word for whoever raises the bound on uvicorn in pyproject.toml."""

    async def used():
        protocol, _ = connected(None, STATE)
        protocol.on_message_begin()
        return protocol

    protocol = asyncio.run(used())
    names = {
        *("app_state", "client", "connections", "cycle", "expect_100_continue", "headers", "loop"),
        *("parser", "scope", "tasks", "transport", "url", "timeout_keep_alive_handler"),
        *("_unset_keepalive_if_required", "on_headers_complete", "on_response_complete"),
    }
    cycle = {"default_headers", "keep_alive", "response_complete", "response_started"}
    made = (
        set(inspect.signature(RequestResponseCycle).parameters)
        | vars(RequestResponseCycle).keys()
        | set(RequestResponseCycle.__init__.__code__.co_names)
    )
    gone = {name for name in names if not hasattr(protocol, name)} | (cycle - made)
    assert not gone, f"uvicorn {uvicorn.__version__} has no {gone}: adapt app/protocol.py"
