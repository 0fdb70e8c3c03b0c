"""``python -m app`` in an operator's hands: stopped, with several workers, and kept waiting."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import numpy as np
import pytest

from airsched_client import SchedulerClient
from app import metrics
from app.settings import Settings
from lab.channels import iid_channels
from lab.processes import serving
from lab.service import free_port, running_command
from tests.api.bodies import nested
from tests.api.test_observer import counted
from tests.conftest import running_service

BODY = {"channels": nested([[1, 2, 0.1]]), "gamma": 1}


def test_sigterm_drains_and_finishes_what_was_begun():
    slow = {
        "channels": nested(iid_channels(np.random.default_rng(1), 6, 30)),
        "gamma": 0.5,
        "algorithm": {"name": "dc", "solver": "clarabel"},
    }
    answers = []
    with running_command(drain_seconds=1.5) as (process, url):

        def post():
            answers.append(httpx.post(f"{url}/schedule", json=slow, timeout=60))

        thread = threading.Thread(target=post)
        thread.start()
        while not counted(httpx.get(f"{url}/metrics").text, "airsched_requests_in_progress"):
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        assert httpx.get(f"{url}/health/ready").status_code == 503
        assert httpx.get(f"{url}/health/live").status_code == 200
        assert httpx.post(f"{url}/schedule", json=BODY).status_code == 200
        assert process.wait(60) in (0, -signal.SIGTERM)
        thread.join()
    assert [answer.status_code for answer in answers] == [200]


def test_workers_share_their_counts_and_those_of_a_killed_one_stay():
    with running_command(workers=2) as (process, url):

        def requests_counted():
            text = httpx.get(f"{url}/metrics").text
            return counted(text, "airsched_requests_total", route="/schedule", status="200")

        for _ in range(20):  # a new connection each, which either worker may take
            with SchedulerClient(url, retries=8) as client:
                client.schedule(np.array([[1, 2, 0.1]]), gamma=1)
        assert [requests_counted() for _ in range(6)] == [20] * 6
        victim = serving(process.pid)[0]
        os.kill(victim, signal.SIGKILL)
        give_up = time.monotonic() + 30
        while len(set(serving(process.pid)) - {victim}) < 2:
            assert time.monotonic() < give_up
            time.sleep(0.1)
        with SchedulerClient(url, retries=8) as client:
            client.schedule(np.array([[1, 2, 0.1]]), gamma=1)
        assert requests_counted() == 21


def test_a_body_that_does_not_come_is_a_408_and_takes_no_place():
    head = b"POST /schedule HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\n"
    with running_service(Settings(read_timeout_ms=300, max_concurrency=2)) as url:
        where = httpx.URL(url)
        clients = [socket.create_connection((where.host, where.port), 10) for _ in range(2)]
        for client in clients:
            client.sendall(head + b'Content-Length: 100\r\n\r\n{"channels"')
        time.sleep(0.1)
        assert httpx.post(f"{url}/schedule", json=BODY).status_code == 200
        for client in clients:
            with client:
                answer = b"".join(iter(lambda client=client: client.recv(65536), b""))
                assert answer.startswith(b"HTTP/1.1 408")
                assert b"AIRSCHED_READ_TIMEOUT_MS" in answer
        assert httpx.post(f"{url}/schedule", json=BODY).status_code == 200


def test_after_sigterm_workers_refuse_connections_though_others_are_being_answered():
    """Whoever connects then must not wait for the end of the longest solve."""
    slow = {
        "channels": nested(iid_channels(np.random.default_rng(61), 8, 400)),
        "gamma": 0.5,
        "algorithm": "dc",
        "deadline_ms": 8000,
    }
    with running_command(workers=2) as (process, url):
        where = httpx.URL(url)

        def solve():
            # The other worker may not be ready yet.
            while httpx.post(f"{url}/schedule", json=slow, timeout=60).status_code == 503:
                time.sleep(0.05)

        solving = threading.Thread(target=solve, daemon=True)
        solving.start()
        ends = time.monotonic() + 30
        while not counted(httpx.get(f"{url}/metrics").text, "airsched_requests_in_progress"):
            assert time.monotonic() < ends
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        time.sleep(3)
        assert solving.is_alive()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((where.host, where.port), 2)
        solving.join()


def test_few_open_files_leave_room_for_newcomers():
    """64 files allowed, 100 idle connections: the idle ones are closed, a request is answered."""
    script = (
        "import resource, runpy; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)); "
        "runpy.run_module('app', run_name='__main__')"
    )
    port = free_port()
    command = [sys.executable, "-c", script, "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        address = f"http://127.0.0.1:{port}"
        until_ready(address)
        with ExitStack() as stack:
            for _ in range(100):
                stack.enter_context(socket.create_connection(("127.0.0.1", port), 5))
            for _ in range(5):
                answer = httpx.post(f"{address}/schedule", json=BODY, timeout=20)
                assert answer.status_code == 200
    finally:
        process.terminate()
        process.wait(60)


def until_ready(address):
    give_up = time.monotonic() + 60
    while True:
        assert time.monotonic() < give_up
        with suppress(httpx.TransportError):
            if httpx.get(f"{address}/health/ready", timeout=10).status_code == 200:
                return
        time.sleep(0.1)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_does_not_keep_it_from_starting():
    port = free_port()
    command = [sys.executable, "-m", "app", "--port", str(port)]
    with Path("/dev/full").open("w") as full:
        process = subprocess.Popen(command, stdout=full, stderr=subprocess.DEVNULL)
        try:
            until_ready(f"http://127.0.0.1:{port}")
        finally:
            process.terminate()
            process.wait(60)


def test_the_gauges_of_a_living_process_stay_without_proc(monkeypatch, tmp_path):
    """As on macOS, which has no /proc."""
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    living, dead = os.getpid(), subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    for process in (living, dead.pid):
        (tmp_path / f"gauge_livesum_{process}.db").write_bytes(b"")
    marked = []
    monkeypatch.setattr(metrics, "mark_process_dead", lambda process, _: marked.append(process))
    monkeypatch.setattr(metrics, "MultiProcessCollector", lambda registry: None)
    exists = Path.exists
    monkeypatch.setattr(
        Path, "exists", lambda path: not str(path).startswith("/proc") and exists(path)
    )
    metrics.exposition()
    assert marked == [dead.pid]
