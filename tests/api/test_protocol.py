"""The protocol by itself, with a transport that goes nowhere and a clock that skips waits."""

import asyncio
import inspect
from functools import partial

import pytest
import uvicorn
from prometheus_client import REGISTRY
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle
from uvicorn.server import ServerState

from app.api.bodies import ARRIVED, LARGE_BYTES
from app.api.observer import Records
from app.protocol import MAX_HEAD_BYTES, BoundedProtocol
from app.settings import Settings
from tests.virtual_time import run

STATE = {
    "settings": Settings(read_timeout_ms=200, write_timeout_ms=200),
    "records": Records(frozenset(), frozenset()),
    "max_connections": 100,
}


class Nowhere(asyncio.Transport):
    def __init__(self, address="127.0.0.1"):
        super().__init__({"peername": (address, 1)})
        self.written, self.closed, self.aborted, self.unread = [], False, False, 0

    def write(self, data):
        self.written.append(bytes(data))

    def close(self):
        self.closed = True

    def abort(self):
        self.closed = self.aborted = True

    def pause_reading(self):
        pass

    resume_reading = pause_reading

    def is_closing(self):
        return self.closed

    def get_write_buffer_size(self):
        return self.unread


def connected(app, state=STATE, *, keep_alive=0.05, server=None, address="127.0.0.1"):
    config = uvicorn.Config(
        app, lifespan="off", log_config=None, interface="asgi3", timeout_keep_alive=keep_alive
    )
    config.load()
    server = server or ServerState()
    protocol = BoundedProtocol(config=config, server_state=server, app_state=state)
    transport = Nowhere(address)
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

    assert run(arrive()) == (False, True, False)


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
    async def exchange():
        protocol, transport = connected(ok)
        protocol.data_received(requests * POST)
        await asyncio.sleep(0.05)
        protocol.connection_lost(None)
        return transport.written

    written = run(exchange())
    assert b"".join(written).count(b"HTTP/1.1 200 ") == requests
    assert len(written) <= requests


def test_a_connection_that_is_aborted_has_sent_its_answer():
    async def exchange():
        protocol, transport = connected(ok)
        completed = protocol.on_response_complete
        protocol.on_response_complete = lambda: (completed(), protocol.transport.abort())
        protocol.data_received(POST)
        await asyncio.sleep(0.05)
        return b"".join(transport.written)

    assert run(exchange()).endswith(b"ok")


def test_a_client_that_half_closes_while_its_answer_is_sent_gets_it():
    async def exchange():
        protocol, transport = connected(ok)
        completed = protocol.on_response_complete

        def complete():
            completed()
            # As an event loop does at the end of the input.
            if not protocol.eof_received():
                transport.close()

        protocol.on_response_complete = complete
        protocol.data_received(POST)
        await asyncio.sleep(0.05)
        return b"".join(transport.written)

    assert run(exchange()).endswith(b"ok")


def test_pieces_of_a_large_answer_do_not_pile_up_before_the_transport():
    sent = []

    async def exchange():
        async def app(scope, receive, send):
            await send(dict(HEAD, headers=[(b"content-length", b"%d" % (2 * LARGE_BYTES))]))
            for more in (True, False):
                await send(dict(BODY, body=b"x" * LARGE_BYTES, more_body=more))
                sent.append(sum(map(len, transport.written)))

        protocol, transport = connected(app)
        protocol.data_received(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        await asyncio.sleep(0.05)
        protocol.connection_lost(None)

    run(exchange())
    assert sent[0] > LARGE_BYTES
    assert sent[1] - sent[0] == LARGE_BYTES


def answered(*parts, solve_seconds=0.0, pause_seconds=0.01, wait_seconds=0.0):
    """Send ``parts`` to an application; return what is written, and whether the connection closes.

    Parameters
    ----------
    solve_seconds
        How long the application takes.
    pause_seconds
        How long to wait after each part.
    wait_seconds
        How long to look on afterwards.
    """

    async def exchange():
        protocol, transport = connected(partial(ok, solve_seconds=solve_seconds))
        for part in parts:
            protocol.data_received(part)
            await asyncio.sleep(pause_seconds)
        await asyncio.gather(*protocol.tasks)
        await asyncio.sleep(wait_seconds)
        closed = transport.closed
        protocol.connection_lost(None)
        return b"".join(transport.written), closed

    return run(exchange())


def test_a_refusal_that_closes_the_connection_says_so():
    head = b"GET /" + b"a" * MAX_HEAD_BYTES + b" HTTP/1.1\r\nHost: a\r\n\r\n"
    answer, closed = answered(head)
    assert closed
    assert answer.startswith(b"HTTP/1.1 431 ")
    assert answer.count(b"\r\nconnection: close\r\n") == 1


@pytest.mark.parametrize(
    "unfinished",
    [[b"GET / HT"], [b"\x16\x03\r\n\r\n"], [b"\x16\x03\r\n\r\n", b"\x16\x03\r\n\r\n"]],
)
def test_what_cannot_be_read_behind_a_request_does_not_cost_that_request_its_answer(unfinished):
    """The read timeout passes while the first request is solved."""
    answer, closed = answered(POST, *unfinished, solve_seconds=0.4)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.count(b"HTTP/1.1 ") == 1
    assert answer.count(b"connection: close") == 1
    assert closed


def test_a_connection_that_sends_nothing_is_closed():
    assert answered(wait_seconds=0.19) == (b"", False)
    assert answered(wait_seconds=0.21) == (b"", True)


def test_a_connection_is_not_idle_while_its_next_request_is_answered():
    """The keep-alive time would end in the middle of it."""
    answer, closed = answered(POST, POST, solve_seconds=0.1, pause_seconds=0.12)
    assert answer.count(b"HTTP/1.1 200 ") == 2
    assert not closed


def test_heads_are_small_one_by_one_and_not_together():
    requests = MAX_HEAD_BYTES // 10 * b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    answer, _ = answered(requests[:-5], requests[-5:])
    assert answer.count(b"HTTP/1.1 200 ") == MAX_HEAD_BYTES // 10
    assert answer.count(b"HTTP/1.1 ") == MAX_HEAD_BYTES // 10


def test_a_body_that_does_not_come_behind_its_answer_ends_the_connection():
    """Also where idle connections are kept for longer than a client has to send its request."""

    async def app(scope, receive, send):
        await asyncio.sleep(0.3)
        await send(dict(HEAD))
        await send(dict(BODY))

    async def exchange():
        protocol, transport = connected(app, keep_alive=10)
        protocol.data_received(POST[:-1])
        closed = []
        for seconds in (0.4, 0.2):
            await asyncio.sleep(seconds)
            closed.append(transport.closed)
        return b"".join(transport.written), closed

    answer, closed = run(exchange())
    assert answer.endswith(b"ok")
    assert closed == [False, True]


def test_an_answer_that_is_not_read_in_time_ends_the_connection():
    async def exchange():
        protocol, transport = connected(ok, {**STATE, "settings": Settings(write_timeout_ms=200)})
        aborted = []
        for resumes in (True, False):
            protocol.pause_writing()
            await asyncio.sleep(0.1)
            if resumes:
                protocol.resume_writing()
            await asyncio.sleep(0.15)
            aborted.append(transport.aborted)
        protocol.connection_lost(None)
        return aborted

    assert run(exchange()) == [False, True]


def test_an_idle_connection_is_closed_though_its_answer_is_not_read():
    async def exchange():
        protocol, transport = connected(ok)
        protocol.data_received(POST)
        await asyncio.sleep(0.1)
        protocol.connection_lost(None)
        return transport.aborted

    assert run(exchange())


def test_a_shutdown_waits_for_readers_no_longer_than_any_answer():
    async def exchange():
        protocol, transport = connected(ok, {**STATE, "settings": Settings(write_timeout_ms=200)})
        transport.unread = 1
        protocol.shutdown()
        aborted = []
        for _ in range(2):
            await asyncio.sleep(0.15)
            aborted.append(transport.aborted)
        protocol.connection_lost(None)
        return aborted

    assert run(exchange()) == [False, True]


def test_open_connections_are_counted_and_nothing_happens_to_lost_ones():
    async def exchange():
        server, counts = ServerState(), []
        made = [connected(ok, server=server) for _ in range(2)]
        counts.append(REGISTRY.get_sample_value("airsched_connections"))
        for protocol, _ in made:
            protocol.connection_lost(ConnectionResetError())
        counts.append(REGISTRY.get_sample_value("airsched_connections"))
        # Longer than any time limit.
        await asyncio.sleep(1)
        return counts, [transport.closed for _, transport in made]

    assert run(exchange()) == ([2, 0], [False, False])


def test_a_newcomer_takes_the_place_of_the_longest_idle_of_the_address_with_most():
    async def exchange():
        server, state = ServerState(), {**STATE, "settings": Settings(), "max_connections": 4}
        slow = partial(ok, solve_seconds=1000)
        closed = []

        async def connect(name, app=ok):
            made[name] = connected(
                app, state, keep_alive=1000, server=server, address=name.rstrip("0123456789")
            )
            await asyncio.sleep(0.1)
            closed.append([name for name, (_, transport) in made.items() if transport.closed])

        made = {}
        await connect("b1")
        await connect("a1", slow)
        made["a1"][0].data_received(POST)
        await connect("a2")
        await connect("a3")
        made["a2"][0].data_received(POST)
        await asyncio.sleep(0.1)
        # a1 is being answered, and a2 has been since a3 came.
        await connect("c1")
        await connect("d1")
        answers = b"".join(made["a1"][1].written)
        for protocol, _ in made.values():
            protocol.connection_lost(None)
        return closed[-3:], answers

    assert run(exchange()) == ([[], ["a3"], ["a2", "a3"]], b"")


def test_where_all_connections_are_busy_a_newcomer_is_told_so():
    async def exchange():
        server, state = ServerState(), {**STATE, "max_connections": 1}
        busy, _ = connected(partial(ok, solve_seconds=1), state, server=server)
        busy.data_received(POST)
        await asyncio.sleep(0.01)
        newcomer, transport = connected(ok, state, server=server)
        await asyncio.sleep(0.01)
        for protocol in (busy, newcomer):
            protocol.connection_lost(None)
        return b"".join(transport.written)

    answer = run(exchange())
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"too-many-connections" in answer


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
        protocol, _ = connected(None)
        protocol.on_message_begin()
        return protocol

    protocol = run(used())
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
