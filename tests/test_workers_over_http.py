"""Solver processes behind the service: what clients see when they are killed, slow or too many."""

import asyncio
import json
import os
import re
import signal
import socket
import time
from collections import Counter

import httpx
import psutil
import pytest

from app.settings import Settings
from lab import processes
from lab.service import running_command, running_module
from tests.api.bodies import packed
from tests.api.test_observer import counted
from tests.conftest import running_service
from tests.test_workers import ENDLESS, OTHERS, QUICK, solvers, until


@pytest.fixture(scope="module", autouse=True)
def others():
    OTHERS.update(processes.below(os.getpid()))


def body(problem, **fields):
    fields = {"channels": packed(problem.channels), "algorithm": "dc", **fields}
    return {"gamma": problem.gamma, **fields}


@pytest.fixture(scope="module")
def slow_service():
    with running_service(Settings(solver_workers=1, queue_length=1)) as url:
        yield url


def post(url, content, **options):
    options.setdefault("timeout", 60)
    return httpx.post(f"{url}/schedule", json=content, **options)


def test_deadline_is_504(slow_service):
    answer = post(slow_service, body(ENDLESS, deadline_ms=50))
    assert answer.status_code == 504
    assert "deadline_ms" in answer.json()["detail"]
    assert post(slow_service, body(QUICK)).status_code == 200


@pytest.mark.anyio
async def test_killed_process_is_a_500_that_says_so(slow_service):
    async with httpx.AsyncClient(timeout=60) as client:
        task = asyncio.create_task(client.post(f"{slow_service}/schedule", json=body(ENDLESS)))
        await until(solvers)
        await asyncio.sleep(0.2)
        os.kill(solvers()[0], signal.SIGKILL)
        answer = await task
    assert answer.status_code == 500
    assert answer.json()["type"] == "urn:airsched:problem:solver-died"
    assert post(slow_service, body(QUICK)).status_code == 200


@pytest.mark.anyio
async def test_each_lost_solver_is_counted(slow_service):
    def restarts():
        text = httpx.get(f"{slow_service}/metrics").text
        return counted(text, "airsched_worker_restarts_total")

    assert post(slow_service, body(QUICK)).status_code == 200
    before = restarts()
    for _ in range(2):
        assert post(slow_service, body(QUICK)).status_code == 200
    assert restarts() == before
    assert post(slow_service, body(ENDLESS, deadline_ms=50)).status_code == 504
    await until(lambda: restarts() == before + 1)
    # Killed while idle: noticed when the next solve needs it.
    assert post(slow_service, body(QUICK)).status_code == 200
    (solver,) = solvers()
    os.kill(solver, signal.SIGKILL)
    assert post(slow_service, body(QUICK)).status_code == 200
    assert restarts() == before + 2


def test_a_client_that_goes_away_frees_the_process(slow_service):
    for _ in range(3):
        with pytest.raises(httpx.ReadTimeout):
            post(slow_service, body(ENDLESS), timeout=0.3)
    # Three such clients would fill the one process and the queue for minutes.
    assert post(slow_service, body(QUICK), timeout=20).status_code == 200


@pytest.mark.anyio
async def test_full_queue_of_slow_solves_is_503_and_fast_ones_go_on(slow_service):
    async with httpx.AsyncClient(base_url=slow_service, timeout=60) as client:
        slow = body(ENDLESS, deadline_ms=1500)
        accepted = [asyncio.create_task(client.post("/schedule", json=slow)) for _ in range(2)]
        await asyncio.sleep(0.3)
        refused = await client.post("/schedule", json=slow)
        assert refused.status_code == 503
        assert refused.headers["retry-after"] == "1"
        fast = {"channels": packed(QUICK.channels), "gamma": 1}
        for algorithm in ("matching_pursuit", "dual_pursuit"):
            answer = await client.post("/schedule", json={**fast, "algorithm": algorithm})
            assert answer.status_code == 200
        assert [(await task).status_code for task in accepted] == [504, 504]


def seconds_worked(process):
    return sum(psutil.Process(process).cpu_times()[:2])


def test_no_process_outlives_a_service_that_was_killed():
    content = json.dumps(body(ENDLESS)).encode()
    head = "POST /schedule HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\n"
    with running_command() as (service, url):
        (solver,) = processes.solvers(service.pid)
        before = seconds_worked(solver)
        where = httpx.URL(url)
        with socket.create_connection((where.host, where.port)) as connection:
            connection.sendall(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
            # In the middle of a solve of minutes, for a client that still waits.
            give_up = time.monotonic() + 60
            while seconds_worked(solver) < before + 0.2:
                assert time.monotonic() < give_up
                time.sleep(0.02)
            below = [psutil.Process(process) for process in processes.below(service.pid)]
            assert solver in {process.pid for process in below}
            service.kill()
            service.wait()
        left = psutil.wait_procs(below, timeout=20)[1]
        for process in left:
            process.kill()
        assert left == []


def test_solver_processes_write_no_metrics(tmp_path):
    """A file for each would outlive it, and every scrape would read them all."""
    environment = {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    with running_module("app", "--workers", "2", environment=environment) as (_, url):
        statuses = Counter()
        # Both workers answer sooner or later; until then one may not be ready.
        while statuses[200] < 4 or statuses[504] < 4:
            statuses[post(url, body(QUICK)).status_code] += 1
            statuses[post(url, body(ENDLESS, deadline_ms=50)).status_code] += 1
        writers = {re.search(r"_(\d+)\.db$", path.name)[1] for path in tmp_path.glob("*.db")}
    assert 1 <= len(writers) <= 2
