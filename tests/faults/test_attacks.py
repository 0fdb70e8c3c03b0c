"""Hostile and careless clients: they are refused, memory is bounded, and nobody else is."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import httpx
import pytest

from lab import attacks
from lab.processes import serving, terminate
from lab.service import running_command
from tests.api.test_observer import counted

GROWTH_MEBIBYTES = 256


def attack(process, address, name):
    """Run an attack: others are served meanwhile, and memory stays within bounds."""
    noticed = attacks.watch(process.pid, address, getattr(attacks, name))
    assert noticed.refused == 0
    assert noticed.growth_mebibytes < GROWTH_MEBIBYTES
    return noticed.statuses


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("wrong_gains", 413),
        ("wrong_gains_within_the_limit", 422),
        ("wrong_ids", 413),
        ("empty_lists", 413),
        ("endless_headers", 431),
        ("endless_url", 431),
        ("endless_trailer", 431),
        ("tiny_channels", 200),
    ],
)
def test_a_request_that_would_cost_too_much(process, address, name, status):
    assert attack(process, address, name) == {status: 1}


def test_a_content_length_of_thousands_of_digits(process, address):
    (status,) = attack(process, address, "long_length")
    assert status in (400, 413)


def test_names_are_echoed_once_and_batches_are_bounded(process, address):
    assert attack(process, address, "long_ids_in_a_batch") == {422: 1, 200: 1}


def test_heads_without_bodies_take_no_place(process, address):
    assert attack(process, address, "heads_without_bodies")["held"] == 80


def test_one_client_leaves_room_for_others(process, address):
    statuses = attack(process, address, "hogging")
    assert statuses[200] > 0
    assert statuses.keys() <= {200, 503}


def test_half_open_heads_are_dropped():
    with running_command(read_timeout_ms=2000, max_connections=300) as (process, address):
        statuses = attack(process, address, "half_open_heads")
        assert statuses["held"] == 0


def test_large_bodies_share_one_budget(process, address):
    statuses = attack(process, address, "many_large_bodies")
    assert sum(statuses.values()) == 24
    # Late ones on a slow machine are told so.
    assert statuses.keys() <= {422, 503, 408, "closed"}
    assert statuses[503] > 0


def test_deaf_clients_end_neither_memory_nor_shutdown():
    with running_command(write_timeout_ms=2000) as (process, address):
        attack(process, address, "deaf_clients")
        assert not terminate(process, 40).startswith("over")


def test_a_disconnect_is_no_failure(process, address):
    def failures():
        text = httpx.get(f"{address}/metrics").text
        return counted(text, "airsched_requests_total", route="/schedule", status="500")

    before = failures()
    attack(process, address, "disconnects")
    text = httpx.get(f"{address}/metrics").text
    assert counted(text, "airsched_requests_total", route="/schedule", status="499") >= 50
    assert failures() == before


def test_a_trailer_is_no_header():
    with running_command(api_keys="secret") as (_, address), attacks.connected(address) as client:
        body = b'{"channels": {"real": [[1]], "imag": [[0]]}, "gamma": 1}'
        client.sendall(
            b"POST /schedule HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\nTrailer: Authorization\r\n\r\n"
            + b"%x\r\n%b\r\n0\r\nAuthorization: Bearer secret\r\n\r\n"
            % (len(body), body)
        )
        assert attacks.status_of(client) == 401


@pytest.mark.parametrize("protocol", ["h2c", "websocket"])
def test_an_upgrade_is_declined_and_what_follows_is_no_request(address, protocol):
    with attacks.connected(address) as client:
        client.sendall(
            b"GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"
            b"Upgrade: " + protocol.encode() + b"\r\n\r\n"
        )
        client.sendall(b"GET /algorithms HTTP/1.1\r\nHost: x\r\n\r\n")
        answers = b"".join(iter(lambda: client.recv(65536), b""))
    assert answers.startswith(b"HTTP/1.1 200 OK")
    assert b"connection: close" in answers
    assert answers.count(b"HTTP/1.1") == 1
    assert b"algorithms" not in answers


def test_the_body_of_an_upgrade_is_its_own(address):
    body = b'{"channels": {"real": [[1]], "imag": [[0]]}, "gamma": 1}'
    request = attacks.request(body).replace(
        b"Host: test\r\n", b"Host: test\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n"
    )
    with attacks.connected(address) as client:
        client.sendall(request + b"GET /algorithms HTTP/1.1\r\nHost: x\r\n\r\n")
        answers = b"".join(iter(lambda: client.recv(65536), b""))
    assert answers.startswith(b"HTTP/1.1 200 OK")
    assert answers.count(b"HTTP/1.1") == 1


def run(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "app", *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize("keys", ["", ",", " , "])
def test_keys_that_are_none_stop_the_start(keys):
    ended = run("--port", "0", AIRSCHED_API_KEYS=keys)
    assert ended.returncode == 2
    assert re.search(r"^AIRSCHED_API_KEYS: .*unset it", ended.stderr)
    assert "Traceback" not in ended.stderr


def test_a_port_that_is_none_is_an_error():
    ended = run("--port", "99999")
    assert ended.returncode == 2
    assert "0 to 65535" in ended.stderr


def test_metrics_and_documentation_can_need_a_key():
    settings = {"api_keys": "secret", "docs_key": True, "metrics_key": True}
    with running_command(**settings) as (_, address), httpx.Client(base_url=address) as client:
        for path in ("/metrics", "/openapi.json"):
            assert client.get(path).status_code == 401
            headers = {"Authorization": "Bearer secret"}
            assert client.get(path, headers=headers).status_code == 200
        # Without a key they tell nothing.
        for path in ("/docs", "/health/live"):
            assert client.get(path).status_code == 200


def test_ready_means_that_slow_algorithms_are():
    """The first dc solve needs no more time than the next ones: no process has to start."""
    body = {"channels": {"real": [[1, 0.5]], "imag": [[0, 0.1]]}, "gamma": 1, "algorithm": "dc"}
    with running_command() as (_, address):
        answer = httpx.post(f"{address}/schedule", json={**body, "deadline_ms": 1000}, timeout=30)
        assert answer.status_code == 200


def test_an_interrupt_ends_it_without_a_traceback():
    process = subprocess.Popen(
        [sys.executable, "-m", "app", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline().startswith("airsched ")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Traceback" not in errors


def test_workers_end_with_their_supervisor():
    with running_command(workers=2) as (process, address):
        workers = serving(process.pid)
        assert len(workers) == 2
        process.kill()
        give_up = time.monotonic() + 30
        while True:
            try:
                httpx.get(f"{address}/health/live", timeout=1)
            except httpx.TransportError:
                break
            assert time.monotonic() < give_up, "a worker goes on without its supervisor"
            time.sleep(0.1)


def test_json_logs_are_json_from_the_first_line():
    process = subprocess.Popen(
        [sys.executable, "-m", "app", "--port", "0"],
        env={**os.environ, "AIRSCHED_LOG_FORMAT": "json"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    line = json.loads(process.stderr.readline())
    process.terminate()
    out, _ = process.communicate(timeout=60)
    assert line["address"].startswith("http://127.0.0.1:")
    assert out == ""
