"""While a queue is full: what it would refuse is refused at a glance, and nothing else is."""

import asyncio
import threading

import httpx
import numpy as np
import pytest

from app.api.examples import EXAMPLES
from app.api.scheduling_routes import SCHEDULING_ROUTES
from app.api.shedding import outline_of
from app.execution import Outline
from app.main import create_app
from app.scheduling import DeadlineExceededError, solve_specified
from app.settings import Settings
from lab.channels import iid_channels
from tests.api.bodies import nested, packed

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
async def crowded(monkeypatch):
    """Serve with a full thread queue; yield a client."""
    opened = threading.Event()

    def held(problem, spec, stop=None):
        if stop is None:
            return solve_specified(problem, spec)
        while not opened.wait(0.002):
            if stop[0]:
                raise DeadlineExceededError
        return solve_specified(problem, spec, stop)

    monkeypatch.setattr("app.execution.solve_specified", held)
    app = create_app(Settings(solver_workers=1, queue_length=1))
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client,
    ):
        while (await client.get("/health/ready")).status_code != 200:
            await asyncio.sleep(0.01)
        body = {"channels": packed(SMALL), "gamma": 1, "algorithm": LONG}
        waiting = [asyncio.create_task(client.post("/schedule", json=body)) for _ in range(2)]
        while not app.state.service.executor.crowded:
            await asyncio.sleep(0.01)
        yield client
        opened.set()
        assert [(await task).status_code for task in waiting] == [200, 200]


@pytest.mark.anyio
async def test_what_the_queue_has_no_place_for_is_not_even_validated(crowded, monkeypatch):
    monkeypatch.setattr("app.api.endpoint.decode", None)
    body = {"channels": packed(SMALL), "gamma": 1, "algorithm": LONG}
    for path, asked in (("/schedule", body), ("/schedule/frontier", {"channels": nested(SMALL)})):
        refused = await crowded.post(path, json=asked)
        assert refused.status_code == 503
        assert refused.json()["type"].endswith("queue-full")
        assert refused.headers["retry-after"] == "1"
        assert refused.headers["x-request-id"]
    counted = (await crowded.get("/metrics")).text
    assert 'airsched_requests_total{method="POST",route="/schedule",status="503"}' in counted


@pytest.mark.anyio
async def test_what_runs_on_the_loop_or_in_a_process_is_answered(crowded):
    for algorithm in ("matching_pursuit", DUAL, "all_devices", "sdr"):
        body = {"channels": nested(SMALL), "gamma": 1, "algorithm": algorithm}
        assert (await crowded.post("/schedule", json=body)).status_code == 200


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"{", 400),
        (b"[]", 422),
        (b'{"channels": 1, "gamma": 1}', 422),
        (b'{"channels": {"real": [], "imag": []}, "gamma": 1}', 422),
        (b'{"channels": {"shape": ["a"]}, "gamma": 1}', 422),
        (b'{"algorithm": "none", "gamma": 1}', 422),
        (b'{"algorithm": {"name": "dual_pursuit", "starts": 0}}', 422),
        (b'{"algorithm": 7}', 422),
    ],
)
async def test_what_is_wrong_is_told_as_ever(crowded, content, status):
    headers = {"content-type": "application/json"}
    assert (await crowded.post("/schedule", content=content, headers=headers)).status_code == status


@pytest.mark.anyio
async def test_bodies_in_parts_arrive_whole(crowded):
    async def parts():
        yield b'{"channels": {"real": [[1]], "imag"'
        yield b': [[0]]}, "gamma": 1}'

    # Longer than announced at once, and without a length.
    for length in ({"content-length": "56"}, {}):
        headers = {"content-type": "application/json", **length}
        answer = await crowded.post("/schedule", content=parts(), headers=headers)
        assert answer.status_code == 200
    assert (await crowded.get("/schedule")).status_code == 405
