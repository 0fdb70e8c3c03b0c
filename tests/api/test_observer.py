"""What is seen of every request: ids, headers, metrics, lines in the log."""

import asyncio
import json
import logging
import logging.config
import re

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from app.logs import configuration
from app.main import create_app
from app.settings import Settings
from tests.api.bodies import nested

BODY = {"channels": nested([[1, 2, 0.1]]), "gamma": 1}
SAFE = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


@pytest.fixture
async def inside():
    """A client to an application in this process, whose parts a test can replace."""
    async with started(Settings()) as client:
        yield client


class started:
    """An application with these settings, ready, and a client to it."""

    def __init__(self, settings):
        self.app = create_app(settings)
        self.lifespan = self.app.router.lifespan_context(self.app)

    async def __aenter__(self):
        await self.lifespan.__aenter__()
        transport = httpx.ASGITransport(self.app)
        self.client = httpx.AsyncClient(transport=transport, base_url="http://test")
        while (await self.client.get("/health/ready")).status_code != 200:
            await asyncio.sleep(0.01)
        return self.client

    async def __aexit__(self, *error):
        await self.client.aclose()
        await self.lifespan.__aexit__(*error)


def counted(text, name, **labels):
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == name and labels.items() <= sample.labels.items():
                return sample.value
    return 0.0


# Ids and headers


@pytest.mark.parametrize("given", ["a", "round-17.cell_3", "x" * 64])
def test_a_request_id_comes_back(client, given):
    assert (
        client.get("/health/live", headers={"X-Request-ID": given}).headers["x-request-id"] == given
    )


@pytest.mark.parametrize(
    "given", ["", "x" * 65, "two words", "line\tbreak", 'quote"', "é".encode()]
)
def test_what_is_no_request_id_is_replaced(client, given):
    headers = {"X-Request-ID": given}
    answers = [client.get("/health/live", headers=headers).headers for _ in range(2)]
    ids = [answer["x-request-id"] for answer in answers]
    assert all(re.fullmatch("[0-9a-f]{32}", each) for each in ids)
    assert ids[0] != ids[1]


@pytest.mark.parametrize(
    ("method", "path", "content", "status"),
    [
        ("POST", "/schedule", json.dumps(BODY), 200),
        ("POST", "/schedule", "{", 400),
        ("GET", "/schedule", None, 405),
        ("GET", "/nothing", None, 404),
        ("GET", "/docs", None, 200),
        ("GET", "/metrics", None, 200),
    ],
)
def test_every_answer_has_an_id_and_safe_headers(client, method, path, content, status):
    headers = {"Content-Type": "application/json", "Origin": "http://elsewhere"}
    answer = client.request(method, path, content=content, headers=headers)
    assert answer.status_code == status
    assert answer.headers.items() >= SAFE.items()
    assert "x-request-id" in answer.headers
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.anyio
async def test_a_defect_is_a_500_with_an_id_that_the_log_has(inside, monkeypatch, caplog):
    async def broken(*arguments, **options):
        raise ZeroDivisionError("a hidden reason")

    monkeypatch.setattr("app.execution.executor.Executor.solve", broken)
    answer = await inside.post("/schedule", json=BODY, headers={"X-Request-ID": "mine"})
    assert answer.status_code == 500
    assert answer.headers.items() >= SAFE.items()
    assert answer.headers["content-type"] == "application/problem+json"
    assert "a hidden reason" not in answer.text
    (record,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert record.fields["request_id"] == answer.headers["x-request-id"] == "mine"
    assert "a hidden reason" in caplog.text


# Metrics


@pytest.mark.anyio
async def test_requests_are_counted_by_route_status_and_algorithm(inside):
    before = (await inside.get("/metrics")).text
    for algorithm in ("matching_pursuit", "dual_pursuit", "dual_pursuit"):
        await inside.post("/schedule", json={**BODY, "algorithm": algorithm})
    await inside.post("/schedule", json={**BODY, "gamma": -1})
    await inside.get("/some/where/else")
    answer = await inside.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    after = answer.text

    def more(name, **labels):
        return counted(after, name, **labels) - counted(before, name, **labels)

    route = {"route": "/schedule"}
    assert more("airsched_requests_total", **route, method="POST", status="200") == 3
    assert more("airsched_requests_total", **route, method="POST", status="422") == 1
    assert more("airsched_requests_total", route="other", method="GET", status="404") == 1
    dual = {**route, "algorithm": "dual_pursuit"}
    assert more("airsched_request_seconds_count", **dual) == 2
    assert more("airsched_solve_seconds_count", **dual) == 2
    assert (
        0
        < more("airsched_solve_seconds_sum", **dual)
        < more("airsched_request_seconds_sum", **dual)
    )
    # Of the three devices the third is never served.
    assert more("airsched_active_devices_sum", **dual) == 4


@pytest.mark.anyio
async def test_unknown_methods_and_paths_are_counted_together(inside):
    """A client that makes up names must not make up time series."""
    labels = {"route": "/schedule", "method": "other", "status": "405"}
    before = counted((await inside.get("/metrics")).text, "airsched_requests_total", **labels)
    for number in range(3):
        answer = await inside.request(f"BREW{number}", "/schedule")
        assert answer.status_code == 405
        await inside.get(f"/made/up/{number}")
    after = (await inside.get("/metrics")).text
    assert counted(after, "airsched_requests_total", **labels) == before + 3
    assert "BREW" not in after
    assert "/made/up" not in after


@pytest.mark.anyio
async def test_metrics_and_documentation_can_be_closed():
    async with started(Settings(metrics=False, docs=False)) as client:
        for path in ("/metrics", "/docs", "/redoc", "/openapi.json"):
            assert (await client.get(path)).status_code == 404


# The bound on what is in progress


@pytest.mark.anyio
async def test_too_many_requests_at_once_are_refused_and_counted():
    async with started(Settings(max_concurrency=4, client_share=1)) as client:

        async def rejected():
            text = (await client.get("/metrics")).text
            return counted(text, "airsched_rejected_total", reason="concurrency-limit")

        before = await rejected()
        answers = await asyncio.gather(*(client.post("/schedule", json=BODY) for _ in range(10)))
        assert sorted(answer.status_code for answer in answers) == [200] * 4 + [503] * 6
        refused = [answer for answer in answers if answer.status_code == 503]
        assert {answer.headers["retry-after"] for answer in refused} == {"1"}
        assert await rejected() - before == 6
        assert (await client.post("/schedule", json=BODY)).status_code == 200


# The log


@pytest.fixture
def log_lines(capfd):
    """Log as ``python -m app`` does, and read what was logged."""

    def configure(log_format):
        logging.config.dictConfig(configuration(Settings(log_format=log_format)))
        logging.getLogger("httpx").setLevel(logging.WARNING)  # the client logs in this process too
        return lambda: capfd.readouterr().err.splitlines()

    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield configure
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.getLogger("httpx").setLevel(logging.NOTSET)


@pytest.mark.anyio
async def test_one_line_of_json_for_each_request(log_lines):
    async with started(Settings(api_keys=("secret-key",))) as client:
        read = log_lines("json")
        headers = {"Authorization": "Bearer secret-key", "X-Request-ID": "one"}
        await client.post("/schedule?token=hidden", json=BODY, headers=headers)
        await client.post("/schedule", json=BODY, headers={"Authorization": "Bearer wrong-key"})
        await client.get("/health/live")
        await client.get("/line%0abreak%22")
        lines = read()
    assert not any(secret in line for line in lines for secret in ("-key", "hidden", "Bearer"))
    first, second, third = map(json.loads, lines)
    assert first["request_id"] == "one"
    assert (first["message"], first["status"]) == ("POST /schedule", 200)
    assert (first["algorithm"], first["devices"], first["active"]) == ("matching_pursuit", 3, 2)
    assert first["duration_ms"] > 0
    assert (second["status"], second["level"]) == (401, "info")
    assert second["cause"] == "key-wrong"
    assert "cause" not in first
    assert third["message"] == 'GET /line\\nbreak"'


@pytest.mark.anyio
async def test_one_line_of_text_for_each_request(log_lines, inside):
    read = log_lines("text")
    await inside.post("/schedule", json=BODY, headers={"X-Request-ID": "two"})
    (line,) = read()
    assert line.startswith("INFO: POST /schedule request_id=two status=200 duration_ms=")
    assert line.endswith("algorithm=matching_pursuit devices=3 active=2")


@pytest.mark.anyio
async def test_an_exception_is_one_line_of_json(log_lines, inside, monkeypatch):
    async def broken(*arguments, **options):
        raise ZeroDivisionError("a hidden reason")

    monkeypatch.setattr("app.execution.executor.Executor.solve", broken)
    read = log_lines("json")
    await inside.post("/schedule", json=BODY)
    failed, answered = map(json.loads, read())
    assert "ZeroDivisionError: a hidden reason" in failed["exception"]
    assert failed["request_id"] == answered["request_id"]
    assert answered["status"] == 500
