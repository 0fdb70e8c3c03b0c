"""What HTTP asks of a server: content negotiation, codings, paths, what is told about a request."""

import json
import logging
import socket
import time
from collections import Counter
from contextlib import ExitStack

import httpx
import msgpack
import numpy as np
import pytest

from app.settings import Settings
from lab import attacks
from lab.channels import iid_channels
from tests.api.bodies import nested, packed
from tests.api.test_observer import counted
from tests.conftest import running_service

BODY = {"channels": nested([[1, 2, 0.1]]), "gamma": 1}
CONTENT = json.dumps(BODY).encode()
JSON, MSGPACK = "application/json", "application/msgpack"


def exchanged(client, *parts, pause=0.0):
    """Send ``parts`` on a connection of their own; return all that comes back."""
    where = (client.base_url.host, client.base_url.port)
    with socket.create_connection(where, timeout=30) as connection:
        for part in parts:
            connection.sendall(part)
            time.sleep(pause)
        connection.settimeout(5)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def request(*headers, content=CONTENT, path="/schedule"):
    lines = [f"POST {path} HTTP/1.1", "Host: test", "Connection: close", *headers]
    if not any(header.lower().startswith("content-type") for header in headers):
        lines.append(f"Content-Type: {JSON}")
    if not any(header.lower().startswith("transfer-encoding") for header in headers):
        lines.append(f"Content-Length: {len(content)}")
    return "\r\n".join([*lines, "", ""]).encode() + content


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (None, JSON),
        ("*/*", JSON),
        (JSON, JSON),
        (MSGPACK, MSGPACK),
        (MSGPACK.upper(), MSGPACK),
        (f"{JSON}, {MSGPACK}", MSGPACK),
        (f"{JSON}, {MSGPACK};q=0", JSON),
        (f"{JSON};q=0.5, {MSGPACK}; q=0.9", MSGPACK),
        (f"{JSON}, {MSGPACK};q=0.9", JSON),
        (f"{MSGPACK};q=0", JSON),
        (f"{MSGPACK};q=nonsense", JSON),
    ],
)
def test_what_is_accepted(client, accept, expected):
    headers = {} if accept is None else {"Accept": accept}
    answer = client.post("/schedule", json=BODY, headers=headers)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == expected


@pytest.mark.parametrize("coding", ["identity", "Identity", "IDENTITY"])
def test_identity_is_no_compression(client, coding):
    answer = client.post("/schedule", json=BODY, headers={"Content-Encoding": coding})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("coding", "status"), [("chunked", b"200"), ("Chunked", b"200"), ("gzip, chunked", b"501")]
)
def test_a_body_is_transferred_in_chunks_or_with_its_length(client, coding, status):
    chunks = b"%x\r\n%b\r\n0\r\n\r\n" % (len(CONTENT), CONTENT)
    answer = exchanged(client, request(f"Transfer-Encoding: {coding}", content=chunks))
    assert answer.split()[1] == status


def test_a_path_with_a_slash_behind_it_is_another_path(client):
    answer = client.post("/schedule/", json=BODY, headers={"Host": "elsewhere"})
    assert answer.status_code == 404
    assert "location" not in answer.headers


@pytest.mark.parametrize(("path", "status"), [("/schedule", b"200"), ("/nowhere", b"404")])
def test_a_host_that_is_none(client, path, status):
    answer = exchanged(client, request(path=path).replace(b"Host: test", b"Host: ["))
    assert answer.split()[1] == status
    assert b"problem+json" in answer or status == b"200"


def test_waiting_for_the_body_is_not_decoding(client):
    """One second between the head and the body."""
    content = request()
    answer = exchanged(client, content[: -len(CONTENT)], CONTENT, pause=1.0)
    head = answer.partition(b"\r\n\r\n")[0].decode().lower()
    line = next(line for line in head.splitlines() if line.startswith("server-timing"))
    stages = dict(
        stage.strip().split(";dur=") for stage in line.partition(":")[2].strip().split(",")
    )
    assert float(stages["wait"]) > 500
    assert float(stages["decode"]) < 500


def test_the_deadline_starts_when_the_request_has_arrived(client):
    content = json.dumps({**BODY, "deadline_ms": 500}).encode()
    whole = request(content=content)
    answer = exchanged(client, whole[: -len(content)], content, pause=1.0)
    assert answer.split()[1] == b"200"


def test_what_the_protocol_refuses_is_counted_and_logged(client, caplog):
    labels = {"route": "other", "method": "other", "status": "400"}

    def total():
        return counted(client.get("/metrics").text, "airsched_requests_total", **labels)

    before = total()
    caplog.set_level(logging.INFO, "airsched")
    answer = exchanged(client, b"\x16\x03\x01\r\n\r\n")
    assert answer.split()[1] == b"400"
    assert total() == before + 1
    (fields,) = [
        record.fields for record in caplog.records if record.fields.get("cause") == "malformed-http"
    ]
    assert f"x-request-id: {fields['request_id']}".encode() in answer


BROKEN_CHUNKS = b'5\r\n{"cha\r\nno length\r\n'


@pytest.mark.parametrize(
    ("path", "pause", "status"),
    [
        ("/schedule", 0.0, b"400"),
        ("/schedule", 0.2, b"400"),
        # Answered before the body comes.
        ("/nowhere", 0.2, b"404"),
    ],
)
def test_a_malformed_body_is_answered_and_counted_once(client, path, pause, status):
    def totals():
        lines = client.get("/metrics").text.splitlines()
        lines = [line for line in lines if line.startswith("airsched_requests_total{")]
        own = [line for line in lines if 'route="/metrics"' not in line]
        return Counter({name: float(count) for name, _, count in (x.rpartition(" ") for x in own)})

    before = totals()
    head = request("Transfer-Encoding: chunked", content=b"", path=path)
    head = head.replace(b"Connection: close\r\n", b"")
    answer = exchanged(client, head, BROKEN_CHUNKS, pause=pause)
    assert answer.count(b"HTTP/1.1 ") == 1
    assert answer.split()[1] == status
    # The application may still be about to notice that its client has gone.
    time.sleep(0.2)
    ((name, count),) = (totals() - before).items()
    assert count == 1
    assert f'status="{status.decode()}"' in name


@pytest.mark.parametrize(("media_type", "encode"), [(JSON, json.dumps), (MSGPACK, msgpack.packb)])
def test_an_impossible_shape_is_the_requests_fault_also_when_a_queue_is_full(media_type, encode):
    """422, which is no reason to try again, whatever the queues hold."""
    channels = iid_channels(np.random.default_rng(0), 16, 200)
    algorithm = {"name": "dual_pursuit", "starts": 1000}
    slow = {"channels": packed(channels), "gamma": 1, "algorithm": algorithm}
    settings = Settings(solver_workers=1, queue_length=1)
    with (
        running_service(settings) as url,
        httpx.Client(base_url=url, timeout=30) as client,
        ExitStack() as stack,
    ):
        for _ in range(2):
            connection = stack.enter_context(attacks.connected(url))
            connection.sendall(attacks.request(json.dumps(slow).encode()))
        while counted(client.get("/metrics").text, "airsched_queue_length", lane="thread") < 1:
            time.sleep(0.01)
        for shape in (["9" * 400, "2"], [1e308, 2], [float("inf"), 2], [-1, 2]):
            channels = {"dtype": "complex128", "shape": shape, "data": ""}
            content = encode({**slow, "channels": channels})
            answer = client.post("/schedule", content=content, headers={"Content-Type": media_type})
            assert answer.status_code == 422, shape
            assert answer.json()["retryable"] is False
