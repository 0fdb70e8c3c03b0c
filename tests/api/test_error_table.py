"""Every error of the table, provoked over HTTP, answers what its row says."""

import asyncio
import http.client
import re
import socket
from collections import Counter
from contextlib import contextmanager

import httpx
import numpy as np
import pytest

from app.admission import ClientShareError, ConcurrencyLimitError, MemoryLimitError
from app.api.error_responses import ProblemDetail
from app.api.errors import Cause
from app.execution.processes import _Worker
from app.main import create_app
from app.settings import Settings
from lab.channels import iid_channels
from tests.api.bodies import packed
from tests.conftest import running_service
from tests.test_warmup import starting_service

GOOD = {"channels": {"real": [[1, 0.5]], "imag": [[0, 0.1]]}, "gamma": 1}
SLOW = {**GOOD, "algorithm": "dc"}
ENDLESS = {
    "channels": packed(iid_channels(np.random.default_rng(61), 8, 400)),
    "gamma": 0.5,
    "algorithm": "dc",
    "deadline_ms": 3000,
}
JSON = {"Content-Type": "application/json"}
KEY = {"Authorization": "Bearer secret"}


@pytest.fixture(scope="module")
def limited():
    """A service whose limits are easily reached."""
    settings = Settings(
        api_keys="secret",
        max_body_bytes=100_000,
        read_timeout_ms=1500,
        solver_workers=1,
        queue_length=1,
        max_concurrency=4,
        client_share=0.75,
        max_bytes_in_flight=1_000_000,
    )
    with running_service(settings) as url, httpx.Client(base_url=url, timeout=30) as client:
        yield client


@contextmanager
def announced(client, length):
    """Send a request's head, announce a body of this length, and yield the open connection."""
    connection = http.client.HTTPConnection(client.base_url.host, client.base_url.port, timeout=30)
    connection.putrequest("POST", "/schedule")
    for name, value in {**JSON, **KEY, "Content-Length": str(length)}.items():
        connection.putheader(name, value)
    connection.endheaders()
    yield connection
    connection.close()


def answer_to_announced(client, length):
    with announced(client, length) as connection:
        found = connection.getresponse()
        return httpx.Response(found.status, headers=found.getheaders(), content=found.read())


def malformed_body(client, limited, monkeypatch):
    return client.post("/schedule", content=b"{", headers=JSON)


def key_missing(client, limited, monkeypatch):
    return limited.post("/schedule", json=GOOD)


def key_wrong(client, limited, monkeypatch):
    return limited.post("/schedule", json=GOOD, headers={"Authorization": "Bearer guess"})


def not_found(client, limited, monkeypatch):
    return client.get("/nowhere")


def method_not_allowed(client, limited, monkeypatch):
    return client.get("/schedule")


def raw_answer(client, content):
    """Send these bytes on a connection of their own, and return what comes back."""
    where = (client.base_url.host, client.base_url.port)
    with socket.create_connection(where, timeout=30) as connection:
        connection.sendall(content)
        found = http.client.HTTPResponse(connection)
        found.begin()
        return httpx.Response(found.status, headers=found.getheaders(), content=found.read())


def malformed_http(client, limited, monkeypatch):
    return raw_answer(client, b"\x16\x03\x01\r\n\r\n")


def head_too_slow(client, limited, monkeypatch):
    return raw_answer(limited, b"GET /health/live HTTP/1.1\r\nHost: ")


def head_too_large(client, limited, monkeypatch):
    return raw_answer(client, b"GET /" + b"x" * 100_000)


def body_too_slow(client, limited, monkeypatch):
    return answer_to_announced(limited, 100)


def body_too_large(client, limited, monkeypatch):
    return answer_to_announced(limited, 100_001)


def too_many_values(client, limited, monkeypatch):
    return client.post("/schedule", content=b"[" + b"1," * 2**18 + b"1]", headers=JSON)


def unsupported_media_type(client, limited, monkeypatch):
    return client.post("/schedule", content=b"{}", headers={"Content-Type": "text/csv"})


def unsupported_transfer_coding(client, limited, monkeypatch):
    head = b"POST /schedule HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
    return raw_answer(client, head + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n")


def invalid_request(client, limited, monkeypatch):
    return client.post("/schedule", json={**GOOD, "gamma": -1})


def internal(client, limited, monkeypatch):
    async def broken(*arguments, **options):
        raise ZeroDivisionError

    monkeypatch.setattr("app.execution.executor.Executor.solve", broken)
    return client.post("/schedule", json=GOOD)


def solver_died(client, limited, monkeypatch):
    run = _Worker.run

    def killed(self, call):
        self.kill()
        return run(self, call)

    monkeypatch.setattr(_Worker, "run", killed)
    return client.post("/schedule", json=SLOW)


def queue_full(client, limited, monkeypatch):
    async def run():
        base_url = str(limited.base_url)
        async with httpx.AsyncClient(base_url=base_url, timeout=30, headers=KEY) as client:
            return await asyncio.gather(*(client.post("/schedule", json=ENDLESS) for _ in range(3)))

    answers = {answer.status_code: answer for answer in asyncio.run(run())}
    assert set(answers) == {503, 504}
    return answers[503]


def concurrency_limit(client, limited, monkeypatch):
    monkeypatch.setattr("app.admission.Shares.take", refuse_with(ConcurrencyLimitError))
    return limited.post("/schedule", json=GOOD, headers=KEY)


def client_share(client, limited, monkeypatch):
    monkeypatch.setattr("app.admission.Shares.take", refuse_with(ClientShareError))
    return limited.post("/schedule", json=GOOD, headers=KEY)


def memory_limit(client, limited, monkeypatch):
    monkeypatch.setattr("app.admission.Shares.take", refuse_with(MemoryLimitError))
    return limited.post("/schedule", json=GOOD, headers=KEY)


def refuse_with(error):
    def refuse(self, client, amount=1):
        raise error

    return refuse


def too_many_connections(client, limited, monkeypatch):
    monkeypatch.setattr("app.protocol.BoundedProtocol._make_room", lambda self: False)
    with running_service(Settings(max_connections=1)) as url, httpx.Client(base_url=url) as crowd:
        crowd.get("/health/live")
        return httpx.get(f"{url}/health/live")


def not_ready(client, limited, monkeypatch):
    async def run():
        # Without its lifespan the application never begins to compile.
        transport = httpx.ASGITransport(create_app(Settings()))
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return await client.post("/schedule", json=GOOD)

    return asyncio.run(run())


def compiling(client, limited, monkeypatch):
    with starting_service() as (url, finish):
        answer = httpx.post(f"{url}/schedule", json=SLOW)
        finish.set()
        return answer


def deadline_passed(client, limited, monkeypatch):
    return client.post("/schedule", json={**ENDLESS, "deadline_ms": 20})


@pytest.mark.parametrize("cause", Cause, ids=lambda cause: cause.slug)
def test_each_error_answers_what_the_table_says(client, limited, monkeypatch, cause):
    """To add an error, write above how to provoke it."""
    provoke = globals()[cause.name.lower()]
    answer = provoke(client, limited, monkeypatch)
    row = cause.value
    assert answer.status_code == row.status
    assert answer.headers["content-type"] == "application/problem+json"
    for name, value in row.headers.items():
        assert answer.headers[name] == value
    problem = ProblemDetail.model_validate_json(answer.content)
    assert problem.type == f"urn:airsched:problem:{cause.slug}"
    assert (problem.title, problem.status) == (row.title, row.status)
    assert problem.retryable is row.retryable
    words = re.escape(re.sub(r"\{[^}]*\}", "\0", row.detail)).replace("\0", ".+")
    assert re.fullmatch(words, problem.detail)


def test_what_is_worth_repeating():
    """Overload and a service that starts, compiles or stops, with a wait; a solver that died."""
    rows = {cause.slug: cause.value for cause in Cause}
    waits = {slug for slug, row in rows.items() if row.status in (429, 503)}
    assert {slug for slug, row in rows.items() if row.retryable} == waits | {"solver-died"}
    assert {slug for slug, row in rows.items() if "Retry-After" in row.headers} == waits


def test_no_two_errors_look_alike():
    titles = Counter(cause.value.title for cause in Cause)
    assert set(titles.values()) == {1}
    raised = Counter(kind for cause in Cause for kind in cause.value.raised_by)
    assert set(raised.values()) == {1}
    for cause in Cause:
        assert re.fullmatch("[a-z]+(-[a-z]+)*", cause.slug)
        assert cause.value.status >= 400
