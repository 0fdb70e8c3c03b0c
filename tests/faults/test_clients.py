"""Clients that send rubbish, dribble, or hang up half-way: nobody else is to notice."""

import contextlib
import json
import random
import socket
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psutil
import pytest

from tests.faults.rounds import known_round

FAST, THREADED, SLOW = (
    known_round(name, 70) for name in ("matching_pursuit", "dual_pursuit", "dc")
)


def request(content, media_type="application/json", length=None):
    head = f"POST /schedule HTTP/1.1\r\nHost: test\r\nContent-Type: {media_type}\r\n"
    return f"{head}Content-Length: {length or len(content)}\r\n\r\n".encode() + content


def body(known):
    return json.dumps(known.body).encode()


@contextlib.contextmanager
def connected(address):
    where = urlsplit(address)
    with socket.create_connection((where.hostname, where.port), timeout=20) as connection:
        yield connection


def everything(connection):
    """Return what the service sends until it closes the connection."""
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(65536):
            received += part
    return received


def answered(connection):
    """Return the status and the content of one answer."""
    received = b""
    while b"\r\n\r\n" not in received:
        part = connection.recv(65536)
        assert part, received
        received += part
    head, _, content = received.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    while len(content) < length:
        content += connection.recv(65536)
    return int(head.split()[1]), json.loads(content)


def connections(process):
    """Count the service's TCP sockets; those of its solver processes are of another kind."""
    return len(psutil.Process(process.pid).net_connections("tcp"))


@pytest.fixture(autouse=True)
def unharmed(process, address):
    """After each test the service schedules as before, and holds no connection of the test's."""
    with httpx.Client(base_url=address, timeout=30) as client:
        for known in (FAST, THREADED, SLOW):
            known.check(client.post("/schedule", json=known.body))
        before = connections(process)
        yield
        for known in (FAST, THREADED, SLOW):
            known.check(client.post("/schedule", json=known.body))
        give_up = time.monotonic() + 20
        while connections(process) > before:
            assert time.monotonic() < give_up, "connections are left open"
            time.sleep(0.05)


def test_rubbish_instead_of_http(address):
    rng = random.Random(0)
    heads = [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET\r\n\r\n",
        b"POST /schedule HTTP/9.9\r\n\r\n",
        b"POST /schedule HTTP/1.1\r\nContent-Length: minus one\r\n\r\n",
        b"POST /schedule HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        b"POST /schedule HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        *(rng.randbytes(rng.randint(1, 4000)) + b"\r\n\r\n" for _ in range(40)),
    ]
    for head in heads:
        with connected(address) as connection:
            connection.sendall(head)
            connection.shutdown(socket.SHUT_WR)
            answer = everything(connection)
            assert answer == b"" or b" 400 " in answer.partition(b"\r\n")[0], head


@pytest.mark.parametrize("media_type", ["application/json", "application/msgpack"])
def test_corrupt_bodies(address, media_type):
    """Bits flipped and pieces lost in a good body: an answer of the contract, whatever it is."""
    rng = random.Random(1)
    good = body(FAST)
    with httpx.Client(base_url=address, timeout=30) as client:
        seen = set()
        for _ in range(150):
            content = bytearray(good)
            for _ in range(rng.randint(1, 6)):
                content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
            if rng.random() < 0.3:
                del content[rng.randrange(len(content)) :]
            headers = {"Content-Type": media_type}
            answer = client.post("/schedule", content=bytes(content), headers=headers)
            assert answer.status_code in (200, 400, 422), answer.text
            seen.add(answer.status_code)
        assert 400 in seen


def test_slow_clients_are_served_and_hold_up_nobody(address):
    content = request(body(FAST))
    with contextlib.ExitStack() as stack:
        slow = [stack.enter_context(connected(address)) for _ in range(30)]
        step = len(content) // 20
        for start in range(0, len(content), step):
            for connection in slow:
                connection.sendall(content[start : start + step])
            with httpx.Client(base_url=address, timeout=5) as client:
                FAST.check(client.post("/schedule", json=FAST.body))
        for connection in slow:
            status, answer = answered(connection)
            assert status == 200
            assert answer["active"] == FAST.active


every_lane = pytest.mark.parametrize(
    "known", [FAST, THREADED, SLOW], ids=["inline", "thread", "process"]
)


def active_in(answer):
    """Return the schedule in a whole answer; whatever is less than whole does not parse."""
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n"), answer
    return json.loads(answer.partition(b"\r\n\r\n")[2])["active"]


@every_lane
def test_half_closed_before_the_answer(address, known):
    """The whole answer, or none: to close is to go away."""
    for _ in range(10):
        with connected(address) as connection:
            connection.sendall(request(body(known)))
            connection.shutdown(socket.SHUT_WR)
            answer = everything(connection)
            assert answer == b"" or active_in(answer) == known.active


@every_lane
def test_half_closed_after_the_answer(address, known):
    """What has been answered arrives in full."""
    for _ in range(5):
        with connected(address) as connection:
            connection.sendall(request(body(known)))
            assert connection.recv(1, socket.MSG_PEEK)
            connection.shutdown(socket.SHUT_WR)
            assert active_in(everything(connection)) == known.active


def test_gone_in_the_middle_of_the_body(address):
    content = request(body(FAST))
    for part in (0.1, 0.5, 0.99):
        for how in (socket.SHUT_WR, socket.SHUT_RDWR):
            with connected(address) as connection:
                connection.sendall(content[: int(part * len(content))])
                connection.shutdown(how)
                assert b" 200 " not in everything(connection)


def test_nobody_reads_the_answers(address):
    """Answers pile up in the sockets of clients that send on and on; the others are served."""
    pipelined = request(body(FAST)) * 200
    with contextlib.ExitStack() as stack:
        deaf = [stack.enter_context(connected(address)) for _ in range(5)]
        for connection in deaf:
            connection.settimeout(1)
            with contextlib.suppress(TimeoutError):
                connection.sendall(pipelined)
        with httpx.Client(base_url=address, timeout=20) as client:
            for _ in range(20):
                FAST.check(client.post("/schedule", json=FAST.body))


def test_a_thousand_connections_come_and_go(process, address):
    before = connections(process)
    for _ in range(10):
        with contextlib.ExitStack() as stack:
            for _ in range(100):
                stack.enter_context(connected(address))
    give_up = time.monotonic() + 20
    while connections(process) > before:
        assert time.monotonic() < give_up
        time.sleep(0.05)
    assert Path(f"/proc/{process.pid}").exists()
