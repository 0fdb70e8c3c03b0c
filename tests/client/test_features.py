"""What both clients offer around a call: ids, timing, timeouts, splitting, the environment."""

import time

import anyio
import httpx
import numpy as np
import pytest

import airsched_client
from airsched_client import (
    AsyncSchedulerClient,
    Frontier,
    InvalidRequestError,
    SchedulerClient,
    ServiceDownError,
    SlowRequestError,
    UnexpectedAnswerError,
    UnreachableError,
)
from tests.client.test_calls import schedule_answer

CHANNELS = np.ones((3, 5))


def answering(status=200, body=None, headers=None):
    """Return settings of a client whose service answers so; and its requests."""
    requests = []

    def handle(request):
        requests.append(request)
        content = schedule_answer("json") if body is None else body
        return httpx.Response(status, json=content, headers=headers or {})

    return {"transport": httpx.MockTransport(handle)}, requests


def test_results_have_the_request_id_and_the_times_of_the_service(call):
    headers = {
        "X-Request-ID": "abc-1",
        "Server-Timing": 'decode;dur=0.25, solve;desc="x";dur=12.5, cache, odd;dur=no',
    }
    settings, _ = answering(headers=headers)
    schedule = call("http://test", settings, "schedule", CHANNELS, gamma=1)
    assert schedule.request_id == "abc-1"
    assert schedule.server_timing == {"decode": 0.25, "solve": 12.5}


def test_every_kind_of_result_has_the_request_id(service_url, call):
    found = call(service_url, {}, "schedule", CHANNELS, gamma=1)
    batch = call(service_url, {}, "schedule_batch", CHANNELS[None], gamma=1)
    frontier = call(service_url, {}, "schedule_frontier", CHANNELS)
    for each in (found, *batch, frontier, *frontier):
        assert len(each.request_id) == 32
        assert each.server_timing


def test_the_client_names_its_requests_so_that_any_failure_can_be_looked_up(call):
    settings, requests = answering(422, {"detail": "no"})
    with pytest.raises(InvalidRequestError) as caught:
        call("http://test", settings, "schedule", CHANNELS, gamma=1)
    assert caught.value.request_id == requests[0].headers["x-request-id"]
    settings, requests = answering(body={"not": "a schedule"})
    with pytest.raises(UnexpectedAnswerError) as caught:
        call("http://test", settings, "schedule", CHANNELS, gamma=1)
    assert caught.value.request_id == requests[0].headers["x-request-id"]
    seen = []

    def fail(request):
        seen.append(request.headers["x-request-id"])
        raise httpx.ConnectError("refused", request=request)

    settings = {"transport": httpx.MockTransport(fail), "retries": 0}
    with pytest.raises(UnreachableError) as caught:
        call("http://test", settings, "schedule", CHANNELS, gamma=1)
    assert [caught.value.request_id] == seen


@pytest.mark.parametrize(
    ("options", "seconds"),
    [
        ({}, 35.0),
        ({"timeout": 3.0}, 3.0),
        ({"deadline_ms": 1000}, 35.0),
        ({"deadline_ms": 60_000}, 65.0),
        ({"deadline_ms": 60_000, "timeout": 2.0}, 2.0),
    ],
)
def test_the_client_waits_longer_than_the_deadline_unless_told(call, options, seconds):
    settings, requests = answering()
    call("http://test", settings, "schedule", CHANNELS, gamma=1, **options)
    assert requests[0].extensions["timeout"]["read"] == seconds


def test_the_address_and_the_key_come_from_the_environment(call, monkeypatch):
    monkeypatch.delenv("AIRSCHED_URL", raising=False)
    with pytest.raises(ValueError, match="pass base_url, or set AIRSCHED_URL"):
        SchedulerClient()
    monkeypatch.setenv("AIRSCHED_URL", "http://from.env/path/")
    monkeypatch.setenv("AIRSCHED_API_KEY", "from-env")
    settings, requests = answering()
    call(None, settings, "schedule", CHANNELS, gamma=1)
    call("http://given", {**settings, "api_key": "given"}, "schedule", CHANNELS, gamma=1)
    assert str(requests[0].url) == "http://from.env/path/schedule"
    assert requests[0].headers["authorization"] == "Bearer from-env"
    assert str(requests[1].url) == "http://given/schedule"
    assert requests[1].headers["authorization"] == "Bearer given"
    agent = requests[0].headers["user-agent"]
    assert agent.startswith(f"airsched-client/{airsched_client.__version__} httpx/")


def test_options_change_on_the_same_connections():
    settings, requests = answering()
    with SchedulerClient("http://test", **settings) as client:
        other = client.with_options(timeout=3.0, api_key="key")
        other.schedule(CHANNELS, gamma=1)
        client.schedule(CHANNELS, gamma=1)
        # It shares the connections, so closing it closes nothing.
        other.close()
        client.schedule(CHANNELS, gamma=1)
    assert [r.extensions["timeout"]["read"] for r in requests] == [3.0, 35.0, 35.0]
    assert requests[0].headers["authorization"] == "Bearer key"
    assert "authorization" not in requests[1].headers


def test_an_http_client_of_ones_own_stays_open():
    settings, requests = answering()
    with httpx.Client(**settings, headers={"X-Own": "1"}) as own:
        with SchedulerClient("http://test", http_client=own) as client:
            client.schedule(CHANNELS, gamma=1)
        assert not own.is_closed
        with pytest.raises(TypeError, match="cannot be pickled"):
            client.__getstate__()
    assert requests[0].headers["x-own"] == "1"


@pytest.mark.parametrize("attempts", [3, 10**9])
def test_waiting_until_the_service_is_ready(monkeypatch, attempts):
    asked, slept = [], []

    def handle(request):
        asked.append(request.url.path)
        return httpx.Response(200 if len(asked) >= attempts else 503)

    monkeypatch.setattr("airsched_client.client.sleep", slept.append)
    monkeypatch.setattr("airsched_client.client.monotonic", lambda: sum(slept))
    with SchedulerClient("http://test", transport=httpx.MockTransport(handle)) as client:
        if attempts == 3:
            client.wait_until_ready()
            assert asked == ["/health/ready"] * 3
        else:
            with pytest.raises(ServiceDownError, match="http://test was not ready within 2 s"):
                client.wait_until_ready(timeout=2.0)
            assert sum(slept) == pytest.approx(2.0)


def test_waiting_for_a_service_that_hangs_is_bounded_too(call):
    """An answer that never comes takes no longer than all the waiting may."""
    asked = []

    def handle(request):
        asked.append(request.extensions["timeout"]["read"])
        return httpx.Response(503)

    settings = {"transport": httpx.MockTransport(handle)}
    with pytest.raises(ServiceDownError, match=r"was not ready within 0\.3 s"):
        call("http://test", settings, "wait_until_ready", timeout=0.3)
    assert len(asked) >= 2
    assert max(asked) <= 0.3
    asked.clear()
    with pytest.raises(ServiceDownError):
        call("http://test", {**settings, "timeout": 0.1}, "wait_until_ready", timeout=0.3)
    assert max(asked) == 0.1


def test_a_point_of_a_frontier_by_its_number(service_url, call):
    frontier = call(service_url, {}, "schedule_frontier", CHANNELS * np.arange(1, 6))
    assert isinstance(frontier, Frontier)
    assert frontier[0] is frontier.points[0]
    assert frontier[-1] is frontier.points[-1]


def test_the_old_name_of_the_frontier_warns(service_url, call):
    with pytest.warns(DeprecationWarning, match=r"now schedule_frontier\(\)"):
        call(service_url, {}, "frontier", CHANNELS)


@pytest.mark.parametrize(
    ("shape", "options", "sizes"),
    [
        ((600, 1, 2), {}, [256, 256, 88]),
        ((5, 1, 30_000), {}, [2, 2, 1]),
        ((5, 1, 2), {"batch_size": 4}, [4, 1]),
    ],
)
def test_batches_beyond_the_limit_are_split(call, shape, options, sizes):
    sent = []

    def handle(request):
        count = httpx.Response(200, content=request.content).json()["channels"]["shape"][0]
        sent.append(count)
        answers = [{**schedule_answer("json"), "gamma": float(len(sent))}] * count
        return httpx.Response(200, json={"device_ids": None, "schedules": answers})

    settings = {"transport": httpx.MockTransport(handle), "encoding": "json"}
    found = call("http://test", settings, "schedule_batch", np.ones(shape), gamma=1, **options)
    assert sent == sizes
    expected = [float(part) for part, size in enumerate(sizes, start=1) for _ in range(size)]
    assert [each.gamma for each in found] == expected
    with pytest.raises(ValueError, match="batch_size must be 1 or more"):
        call("http://test", settings, "schedule_batch", np.ones(shape), gamma=1, batch_size=0)


def test_a_split_batch_has_the_schedules_of_a_whole_one(service_url, call):
    rng = np.random.default_rng(0)
    channels = rng.standard_normal((7, 3, 6)) + 1j * rng.standard_normal((7, 3, 6))
    given = (service_url, {}, "schedule_batch", channels)
    whole, split = call(*given, gamma=2), call(*given, gamma=2, batch_size=3)
    for one, other in zip(whole, split, strict=True):
        np.testing.assert_array_equal(one.active, other.active)
        assert one.receiver.tobytes() == other.receiver.tobytes()


def test_a_slow_upload_is_not_a_wrong_request(call):
    settings, _ = answering(408, {"detail": "the body did not arrive in time"})
    with pytest.raises(SlowRequestError) as caught:
        call("http://test", settings, "schedule", CHANNELS, gamma=1)
    assert not isinstance(caught.value, InvalidRequestError)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_the_asynchronous_client_runs_on_asyncio_and_trio(service_url, backend):
    """Many calls at once, and a wait before a repeat."""
    if backend == "trio":
        pytest.importorskip("trio", reason="trio is in the dev group")
    calls, found = [], []

    def busy_once(request):
        calls.append(request)
        busy = len(calls) == 1
        return httpx.Response(503 if busy else 200, json=None if busy else schedule_answer("json"))

    async def main():
        transport = httpx.MockTransport(busy_once)
        async with AsyncSchedulerClient("http://test", transport=transport) as client:
            found.append(await client.schedule(CHANNELS, gamma=1))
        async with (
            AsyncSchedulerClient(service_url) as client,
            anyio.create_task_group() as tasks,
        ):
            await client.wait_until_ready()

            async def ask(gamma):
                found.append(await client.schedule(CHANNELS, gamma=gamma))

            for gamma in (1, 10, 100):
                tasks.start_soon(ask, gamma)

    began = time.monotonic()
    anyio.run(main, backend=backend)
    assert len(found) == 4
    assert len(calls) == 2
    assert time.monotonic() - began < 60
