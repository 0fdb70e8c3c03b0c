"""``python -m app`` in the hands of an operator: stopped, killed, and given slow clients."""

import asyncio
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import httpx
import numpy as np
import pytest

from airsched_client import SchedulerClient
from app.settings import Settings
from tests.api.bodies import nested
from tests.api.test_observer import counted
from tests.channels import iid_channels
from tests.conftest import running_service
from tests.processes import below, solvers

BODY = {"channels": nested([[1, 2, 0.1]]), "gamma": 1}


@contextlib.contextmanager
def command(*arguments, **environment):
    """Run ``python -m app``, and yield its process and address once it is ready."""
    process = subprocess.Popen(
        [sys.executable, "-m", "app", *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "AIRSCHED_LOG_LEVEL": "warning", **environment},
    )
    try:
        url = re.search(r"is at (http://[^,]*),", process.stdout.readline())[1]
        give_up = time.monotonic() + 60
        while not is_ready(url):
            assert time.monotonic() < give_up
            time.sleep(0.05)
        yield process, url
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def is_ready(url):
    try:
        return httpx.get(f"{url}/health/ready").status_code == 200
    except httpx.TransportError:
        return False


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_sigterm_drains_and_finishes_what_was_begun():
    slow = {
        "channels": nested(iid_channels(np.random.default_rng(1), 8, 60)),
        "gamma": 0.5,
        "algorithm": {"name": "dc", "solver": "clarabel"},
    }
    answers = []
    with command("--port", "0", AIRSCHED_DRAIN_SECONDS="1.5") as (process, url):

        def post():
            answers.append(httpx.post(f"{url}/schedule", json=slow, timeout=60))

        thread = threading.Thread(target=post)
        thread.start()
        while not solvers(process.pid):
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        assert httpx.get(f"{url}/health/ready").status_code == 503
        assert httpx.get(f"{url}/health/live").status_code == 200
        assert httpx.post(f"{url}/schedule", json=BODY).status_code == 200
        assert process.wait(60) in (0, -signal.SIGTERM)
        thread.join()
    assert [answer.status_code for answer in answers] == [200]


def test_workers_share_their_counts_and_a_killed_one_is_replaced():
    port = free_port()
    with command("--port", str(port), "--workers", "2") as (process, url):
        channels = np.array([[1, 2, 0.1]])
        for _ in range(20):  # a new connection each, which either worker may take
            with SchedulerClient(url, retries=8) as client:
                client.schedule(channels, gamma=1)
        labels = {"route": "/schedule", "status": "200"}
        for _ in range(6):
            text = httpx.get(f"{url}/metrics").text
            assert counted(text, "airsched_requests_total", **labels) == 20

        serving = [child for child in below(process.pid) if is_listening(child)]
        assert len(serving) == 2
        with SchedulerClient(url, retries=8) as client:
            os.kill(serving[0], signal.SIGKILL)
            for _ in range(50):
                np.testing.assert_array_equal(client.schedule(channels, gamma=1).active, [0, 1])
        give_up = time.monotonic() + 30
        while sum(is_listening(child) for child in below(process.pid)) < 2:
            assert time.monotonic() < give_up
            time.sleep(0.1)
        # What the killed one counted is not lost.
        text = httpx.get(f"{url}/metrics").text
        assert counted(text, "airsched_requests_total", **labels) >= 70


def is_listening(process):
    with contextlib.suppress(OSError), open(f"/proc/{process}/cmdline") as file:
        return "spawn_main" in file.read()
    return False


# Clients that do not behave

HEAD = b"POST /schedule HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def strict_service():
    with running_service(Settings(read_timeout_ms=300, max_concurrency=2)) as url:
        yield httpx.URL(url)


def connection(url):
    return socket.create_connection((url.host, url.port), timeout=10)


def received(client):
    return b"".join(iter(lambda: client.recv(65536), b""))


def test_a_body_that_does_not_come_is_a_408_and_frees_its_place(strict_service):
    clients = [connection(strict_service) for _ in range(2)]
    for client in clients:
        client.sendall(HEAD + b'Content-Length: 100\r\n\r\n{"channels"')
    time.sleep(0.1)
    # Both places are taken, for 300 ms.
    assert httpx.post(f"{strict_service}/schedule", json=BODY).status_code == 503
    for client in clients:
        with client:
            answer = received(client)
            assert answer.startswith(b"HTTP/1.1 408")
            assert b"AIRSCHED_READ_TIMEOUT_MS" in answer
    assert httpx.post(f"{strict_service}/schedule", json=BODY).status_code == 200


@pytest.mark.anyio
async def test_half_sent_and_closed_requests_leave_nothing_behind(strict_service):
    for _ in range(20):
        with connection(strict_service) as client:
            client.sendall(HEAD + b'Content-Length: 100\r\n\r\n{"channels"')
    await asyncio.sleep(0.1)
    assert httpx.post(f"{strict_service}/schedule", json=BODY).status_code == 200


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00 this is TLS\r\n\r\n",
        b"POST /schedule HTTP/1.1\r\nContent-Length: minus one\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nnot a length\r\n",
    ],
)
def test_what_is_not_http_is_refused(strict_service, sent):
    with connection(strict_service) as client:
        client.sendall(sent)
        answer = received(client)
    assert answer == b"" or re.match(rb"HTTP/1.1 (4\d\d|505)", answer)
    assert httpx.post(f"{strict_service}/schedule", json=BODY).status_code == 200
