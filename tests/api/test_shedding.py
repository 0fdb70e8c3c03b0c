"""While a queue is full: what it would refuse is refused at a glance, and nothing else is."""

import json
import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import httpx
import numpy as np
import pytest

from app.api.endpoint import Call
from app.api.examples import EXAMPLES
from app.api.scheduling_routes import SCHEDULING_ROUTES
from app.api.shedding import outline_of
from app.execution.executor import Outline
from app.execution.lane import QueueFullError
from app.scheduling import DeadlineExceededError, solve_specified
from app.settings import Settings
from lab import attacks
from lab.channels import iid_channels
from tests.api.bodies import nested, packed
from tests.api.test_observer import SAFE, counted
from tests.conftest import running_service

REQUESTS = {route.path: route.request for route in SCHEDULING_ROUTES}
SMALL, LARGE = (iid_channels(np.random.default_rng(0), *size) for size in ((6, 20), (16, 100)))
DUAL, LONG = "dual_pursuit", {"name": "dual_pursuit", "starts": 1000}

BODIES = [
    *(
        (path, example["value"])
        for path, request in REQUESTS.items()
        for example in EXAMPLES[request].values()
    ),
    ("/schedule", {"channels": nested(SMALL), "gamma": 1, "algorithm": LONG}),
    ("/schedule", {"channels": packed(LARGE), "gamma": 1, "polish": True}),
    ("/schedule", {"channels": packed(SMALL), "gamma": 1, "bound": True}),
    ("/schedule/batch", {"channels": packed(np.stack([SMALL] * 3)), "gamma": 1}),
    ("/schedule/batch", {"channels": nested(np.stack([SMALL] * 3)), "gamma": 1}),
]


@pytest.mark.parametrize(("path", "body"), BODIES)
def test_the_glance_sees_what_the_solve_will_be(path, body):
    request = REQUESTS[path]
    asked = request.model_validate(body)
    seen, meant = outline_of(request, body), Outline.of(asked.problems, asked.specification())
    # A frontier is not just its algorithm, whatever its size.
    meant = meant._replace(plain=meant.plain and path != "/schedule/frontier")
    assert seen.scheduler is meant.scheduler
    assert seen.parameters == meant.parameters
    assert seen.plain == meant.plain
    if seen.plain:
        assert seen == meant


@pytest.fixture
def crowded(monkeypatch):
    """Serve with a full thread queue; yield a client."""
    opened = threading.Event()

    def held(problem, spec, stop=None):
        if stop is None:
            return solve_specified(problem, spec)
        while not opened.wait(0.002):
            if stop[0]:
                raise DeadlineExceededError
        return solve_specified(problem, spec, stop)

    monkeypatch.setattr("app.execution.executor.solve_specified", held)
    settings = Settings(solver_workers=1, queue_length=1, read_timeout_ms=1000)
    with (
        running_service(settings) as url,
        httpx.Client(base_url=url, timeout=30) as client,
        ThreadPoolExecutor(2) as pool,
    ):
        waiting = [pool.submit(httpx.post, f"{url}/schedule", json=BODY) for _ in range(2)]
        while 'airsched_queue_length{lane="thread"} 1.0' not in client.get("/metrics").text:
            time.sleep(0.01)
        yield client
        opened.set()
        assert [task.result().status_code for task in waiting] == [200, 200]


BODY = {"channels": packed(SMALL), "gamma": 1, "algorithm": LONG}


def test_what_the_queue_has_no_place_for_does_not_get_to_the_application(crowded, monkeypatch):
    monkeypatch.setattr("app.api.endpoint.SchedulingEndpoint.__call__", None)
    for path, asked in (("/schedule", BODY), ("/schedule/frontier", {"channels": nested(SMALL)})):
        refused = crowded.post(path, json=asked, headers={"x-request-id": "mine"})
        assert refused.status_code == 503
        assert refused.json()["type"].endswith("queue-full")
        assert refused.headers["retry-after"] == "1"
        assert refused.headers["x-request-id"] == "mine"
        assert refused.headers.items() >= SAFE.items()
        assert "connection" not in refused.headers
    text = crowded.get("/metrics").text
    labels = {"method": "POST", "route": "/schedule", "status": "503"}
    assert counted(text, "airsched_requests_total", **labels) >= 1
    assert counted(text, "airsched_rejected_total", reason="queue-full") >= 2


def test_what_runs_on_the_loop_or_in_a_process_is_answered(crowded):
    for algorithm in ("matching_pursuit", DUAL, "all_devices", "sdr"):
        body = {"channels": nested(SMALL), "gamma": 1, "algorithm": algorithm}
        assert crowded.post("/schedule", json=body).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"x-forwarded-for": "127.0.0.1"},
        {"expect": "100-continue"},
        {"connection": "close"},
    ],
)
def test_what_is_not_refused_at_a_glance_is_refused_by_the_queue(crowded, headers):
    refused = crowded.post("/schedule", json=BODY, headers=headers)
    assert refused.status_code == 503
    assert refused.json()["type"].endswith("queue-full")


def test_another_client_behind_a_proxy_is_not_refused_for_it(crowded):
    """It has less to do than the one whose solves fill the queue, and takes a place of its own."""
    body = {**BODY, "deadline_ms": 500}
    answer = crowded.post("/schedule", json=body, headers={"x-forwarded-for": "10.0.0.1"})
    assert answer.status_code == 504


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"{", 400),
        (b"", 400),
        (b"[]", 422),
        (b'{"channels": 1, "gamma": 1}', 422),
        (b'{"channels": {"real": [], "imag": []}, "gamma": 1}', 422),
        (b'{"channels": {"shape": ["a"]}, "gamma": 1}', 422),
        (b'{"algorithm": "none", "gamma": 1}', 422),
        (b'{"algorithm": {"name": "dual_pursuit", "starts": 0}}', 422),
        (b'{"algorithm": 7}', 422),
    ],
)
def test_what_is_wrong_is_told_as_ever(crowded, content, status):
    headers = {"content-type": "application/json"}
    assert crowded.post("/schedule", content=content, headers=headers).status_code == status


def test_bodies_in_parts_arrive_whole(crowded):
    def parts():
        yield b'{"channels": {"real": [[1]], "imag"'
        time.sleep(0.05)
        yield b': [[0]]}, "gamma": 1}'

    # With a length, and without.
    for length in ({"content-length": "56"}, {}):
        headers = {"content-type": "application/json", **length}
        answer = crowded.post("/schedule", content=parts(), headers=headers)
        assert answer.status_code == 200
    assert crowded.get("/schedule").status_code == 405


def test_pipelined_requests_are_answered_in_order(crowded):
    content = json.dumps(BODY).encode()
    small = json.dumps({"channels": nested([[1]]), "gamma": 1}).encode()
    # From the address whose solves fill the queue.
    with socket.create_connection(("127.0.0.1", crowded.base_url.port), 5) as connection:
        connection.sendall(
            attacks.request(content) + attacks.request(small) + attacks.request(content)
        )
        received = b""
        while received.count(b"HTTP/1.1 ") < 3:
            received += connection.recv(65536)
    assert re.findall(rb"HTTP/1.1 (\d+)", received) == [b"503", b"200", b"503"]


def test_a_body_that_does_not_come_is_not_waited_for(crowded):
    with attacks.connected(str(crowded.base_url)) as connection:
        connection.sendall(attacks.request(b"{", length=100))
        assert attacks.status_of(connection) == 408


HUGE = iid_channels(np.random.default_rng(1), 64, 1000)
HUGE_BODY = json.dumps({"channels": packed(HUGE), "gamma": 1, "algorithm": DUAL}).encode()


def test_a_large_body_of_the_client_that_fills_the_queue_is_refused_unread(crowded):
    # From the address whose solves fill the queue.
    with socket.create_connection(("127.0.0.1", crowded.base_url.port), 5) as connection:
        connection.sendall(attacks.request(b"{", length=10**6))
        assert attacks.status_of(connection) == 503


def test_a_large_body_that_was_not_announced_is_refused_too(crowded, monkeypatch):
    monkeypatch.setattr("app.api.endpoint.decode", None)
    parts = (HUGE_BODY[start : start + 10_000] for start in range(0, len(HUGE_BODY), 10_000))
    headers = {"content-type": "application/json"}
    refused = crowded.post("/schedule", content=parts, headers=headers)
    assert refused.status_code == 503
    assert refused.json()["type"].endswith("queue-full")


def test_a_large_body_is_refused_before_it_is_checked(crowded, monkeypatch):
    monkeypatch.setattr(
        "app.execution.executor.Executor.overwhelmed_by", lambda self, client: False
    )
    monkeypatch.setattr("app.api.endpoint.SchedulingEndpoint._checked", None)
    headers = {"content-type": "application/json"}
    refused = crowded.post("/schedule", content=HUGE_BODY, headers=headers)
    assert refused.status_code == 503
    assert refused.json()["type"].endswith("queue-full")


@pytest.mark.anyio
async def test_a_large_body_is_read_once_there_is_a_place(monkeypatch):
    monkeypatch.setattr("app.api.endpoint.UNREAD_SECONDS", 0.01)
    answers = iter([True, False, True, True])
    executor = SimpleNamespace(overwhelmed_by=lambda client: next(answers))
    call = Call(SimpleNamespace(executor=executor), "client", None, None, None)
    await call.require_patience()
    with pytest.raises(QueueFullError):
        await call.require_patience()
