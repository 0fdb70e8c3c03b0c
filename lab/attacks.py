"""What careless and hostile clients do to a service, and what the others notice of it.

Only ever sent to a service of our own on the loopback interface. Each attack is bounded in size and
time.
"""

import contextlib
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx
import msgpack
import numpy as np
import psutil

from lab.channels import iid_channels

MEBI = 2**20
JSON, MSGPACK = "application/json", "application/msgpack"
PROBE_SECONDS = 0.02
ATTACKER, BYSTANDER = "127.0.0.2", "127.0.0.3"
"""Addresses to connect from: the service takes them for two clients."""

Statuses = Counter[int | str]


@dataclass
class Noticed:
    """What a bystander noticed during an attack.

    Parameters
    ----------
    stall_seconds
        Longest wait for an answer.
    growth_mebibytes
        Peak of the service's resident memory, over that before.
    refused
        Answers to the bystander that were not 200.
    statuses
        Answers to the attacker; ``closed`` for none.
    """

    stall_seconds: float = 0.0
    growth_mebibytes: float = 0.0
    refused: int = 0
    statuses: Statuses = field(default_factory=Counter)


def watch(process: int, address: str, attack: Callable[[str], Statuses]) -> Noticed:
    """Run an attack and report what it did to a bystander and to the service's memory."""
    noticed, over = Noticed(), threading.Event()
    before = _resident(process)
    watcher = threading.Thread(target=_stand_by, args=(process, address, before, noticed, over))
    watcher.start()
    try:
        noticed.statuses = attack(address)
        time.sleep(1)
    finally:
        over.set()
        watcher.join()
    return noticed


def _stand_by(
    process: int, address: str, before: float, noticed: Noticed, over: threading.Event
) -> None:
    body = {"channels": {"real": [[1, 0.5]], "imag": [[0, 0.1]]}, "gamma": 1}
    transport = httpx.HTTPTransport(local_address=BYSTANDER)
    with httpx.Client(base_url=address, timeout=120, transport=transport) as client:
        while not over.wait(PROBE_SECONDS):
            started = time.monotonic()
            try:
                noticed.refused += client.post("/schedule", json=body).status_code != 200
            except httpx.TransportError:
                noticed.refused += 1
            noticed.stall_seconds = max(noticed.stall_seconds, time.monotonic() - started)
            noticed.growth_mebibytes = max(noticed.growth_mebibytes, _resident(process) - before)


def _resident(process: int) -> float:
    total = 0
    with contextlib.suppress(psutil.NoSuchProcess):
        service = psutil.Process(process)
        for member in (service, *service.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                total += member.memory_info().rss
    return total / MEBI


# Attacks: address → statuses


def wrong_gains(address: str) -> Statuses:
    """Half a MiB of MessagePack with 450,000 wrong gains."""
    algorithm = {"name": "proportional_fair", "average_gains": [None] * 450_000}
    return _post(address, msgpack.packb({**_TINY, "algorithm": algorithm}), MSGPACK)


def wrong_gains_within_the_limit(address: str) -> Statuses:
    """As many wrong gains as a body may have."""
    algorithm = {"name": "proportional_fair", "average_gains": [None] * 250_000}
    return _post(address, msgpack.packb({**_TINY, "algorithm": algorithm}), MSGPACK)


def wrong_ids(address: str) -> Statuses:
    """1.4 MB of JSON with 700,000 wrong names."""
    return _post(address, json.dumps({**_TINY, "device_ids": [0] * 700_000}).encode(), JSON)


def empty_lists(address: str) -> Statuses:
    """14 MiB of empty lists as channels."""
    lists = b"[" + b"[]," * (14 * MEBI // 3) + b"[]]"
    return _post(address, b'{"gamma": 1, "channels": {"imag": [], "real": ' + lists + b"}}", JSON)


def long_ids_in_a_batch(address: str) -> Statuses:
    """Batches of 2000 devices with long names: 200 rounds, and as many as are taken."""
    statuses: Statuses = Counter()
    for rounds in (200, 32):
        channels = np.ones((rounds, 1, 2000), np.complex64)
        body = {
            "channels": {"dtype": "complex64", "shape": channels.shape, "data": channels.tobytes()},
            "gamma": 1,
            "device_ids": [f"{k:0>250}" for k in range(2000)],
        }
        statuses += _post(address, msgpack.packb(body), MSGPACK, "/schedule/batch")
    return statuses


def endless_headers(address: str) -> Statuses:
    """150 MiB of headers."""
    line = b"x-header: " + b"a" * 1000 + b"\r\n"
    return _stream(address, b"GET /health/live HTTP/1.1\r\n", line * 1000, 150 * MEBI)


def endless_url(address: str) -> Statuses:
    """One path of 40 MiB."""
    return _stream(address, b"GET /", b"a" * MEBI, 40 * MEBI)


def endless_trailer(address: str) -> Statuses:
    """One header of 40 MiB behind the body."""
    head = b"POST /schedule HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\n"
    start = head + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nx-trailer: "
    return _stream(address, start, b"a" * MEBI, 40 * MEBI)


def heads_without_bodies(address: str) -> Statuses:
    """80 connections that announce a body and send none."""
    return _hold(address, [request(b"", length=1000)] * 80, seconds=3)


def half_open_heads(address: str) -> Statuses:
    """1,100 connections that never finish their head (slowloris)."""
    return _hold(address, [b"GET / HTTP/1.1\r\nHost: "] * 1100, seconds=12)


def many_large_bodies(address: str) -> Statuses:
    """24 bodies of 60 MiB at once."""
    body = b'{"channels": {"data": "' + b"A" * (60 * MEBI) + b'"}}'
    with ThreadPoolExecutor(24) as pool:
        found = pool.map(lambda _: _post(address, body, JSON), range(24))
        return sum(found, Counter())


def deaf_clients(address: str) -> Statuses:
    """60 clients that ask for large answers and never read them."""
    channels = np.ones((32, 1, 2000), np.complex64)
    packed = {"dtype": "complex64", "shape": channels.shape, "data": channels.tobytes()}
    content = msgpack.packb({"channels": packed, "gamma": 1, "algorithm": "all_devices"})
    message = request(content, path="/schedule/batch", media_type=MSGPACK)
    return _hold(address, [message] * 60, seconds=15)


def disconnects(address: str) -> Statuses:
    """Clients that go away in the middle of a body."""
    for _ in range(50):
        with connected(address) as connection:
            connection.sendall(request(b"{", length=1000))
            time.sleep(0.01)
    return Counter({"closed": 50})


def tiny_channels(address: str) -> Statuses:
    """Channels around 1e-160, with everybody scheduled."""
    channels = {"real": [[1e-160, 2e-160]], "imag": [[0, 1e-160]]}
    body = {"channels": channels, "gamma": 1, "algorithm": "all_devices"}
    return _post(address, json.dumps(body).encode(), JSON)


def long_length(address: str) -> Statuses:
    """One Content-Length of 5,000 digits."""
    with connected(address) as connection:
        connection.sendall(request(b"", length=int("9" * 18)).replace(b"9" * 18, b"9" * 5000))
        return Counter([status_of(connection)])


def hogging(address: str) -> Statuses:
    """One client with six connections of large rounds, for four seconds."""
    over = time.monotonic() + 4
    channels = iid_channels(np.random.default_rng(0), 64, 1000).astype(np.complex64)
    packed = {"dtype": "complex64", "shape": channels.shape, "data": channels.tobytes()}
    content = msgpack.packb({"channels": packed, "gamma": 1, "algorithm": "dual_pursuit"})

    def post(_: int) -> Statuses:
        statuses: Statuses = Counter()
        while time.monotonic() < over:
            statuses += _post(address, content, MSGPACK)
        return statuses

    with ThreadPoolExecutor(6) as pool:
        return sum(pool.map(post, range(6)), Counter())


ATTACKS: tuple[Callable[[str], Statuses], ...] = (
    wrong_gains,
    wrong_gains_within_the_limit,
    wrong_ids,
    empty_lists,
    long_ids_in_a_batch,
    endless_headers,
    endless_url,
    endless_trailer,
    heads_without_bodies,
    half_open_heads,
    many_large_bodies,
    deaf_clients,
    hogging,
    disconnects,
    tiny_channels,
    long_length,
)

_TINY = {"channels": {"real": [[1.0]], "imag": [[0.0]]}, "gamma": 1}


def request(
    content: bytes, length: int | None = None, path: str = "/schedule", media_type: str = JSON
) -> bytes:
    """Return a POST as it goes over the wire; ``length`` is announced in place of the true one."""
    size = len(content) if length is None else length
    head = f"POST {path} HTTP/1.1\r\nHost: test\r\nContent-Type: {media_type}\r\n"
    return f"{head}Content-Length: {size}\r\n\r\n".encode() + content


@contextlib.contextmanager
def connected(address: str) -> Iterator[socket.socket]:
    """Yield a connection from the attacker's address."""
    where = urlsplit(address)
    with socket.socket() as connection:
        connection.settimeout(60)
        # Small, so that what is not read stays with the service.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.bind((ATTACKER, 0))
        connection.connect((where.hostname, where.port))
        yield connection


def status_of(connection: socket.socket) -> int | str:
    """Return the status of the answer, or that there is none."""
    with contextlib.suppress(OSError):
        received = connection.recv(65536)
        if received.startswith(b"HTTP/1.1 "):
            return int(received[9:12])
    return "closed"


def _post(address: str, content: bytes, media_type: str, path: str = "/schedule") -> Statuses:
    with connected(address) as connection:
        with contextlib.suppress(OSError):
            connection.sendall(request(content, path=path, media_type=media_type))
        return Counter([status_of(connection)])


def _stream(address: str, start: bytes, part: bytes, size: int) -> Statuses:
    """Send ``part`` over and over, until it is refused."""
    with connected(address) as connection:
        try:
            connection.sendall(start)
            for _ in range(size // len(part)):
                connection.sendall(part)
        except OSError:
            pass
        else:
            connection.settimeout(2)
        return Counter([status_of(connection)])


def _hold(address: str, messages: list[bytes], seconds: float) -> Statuses:
    """Send each on a connection of its own, and keep all of them open."""
    with contextlib.ExitStack() as stack:
        open_now = []
        for message in messages:
            try:
                connection = stack.enter_context(connected(address))
                connection.sendall(message)
            except OSError:
                continue
            open_now.append(connection)
        time.sleep(seconds)
        dropped = 0
        for connection in open_now:
            connection.setblocking(False)
            try:
                # What the service sent before it closed, if it closed.
                while connection.recv(MEBI):
                    pass
                dropped += 1
            except BlockingIOError:
                pass
            except OSError:
                dropped += 1
        return Counter({"held": len(open_now) - dropped, "closed": dropped})
