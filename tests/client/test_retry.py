"""A call is repeated where that can help, after a wait that is bounded, and not too often."""

import socket
import threading

import httpx
import numpy as np
import pytest

from airsched_client import (
    AirschedError,
    AnswerTimeoutError,
    OverloadedError,
    Patience,
    Schedule,
    ServiceDownError,
    ServiceError,
    UnreachableError,
    _retry,
    async_client,
    client,
)
from airsched_client._retry import backoff
from tests.client.test_calls import schedule_answer

CHANNELS = np.ones((3, 5))
ANSWER = schedule_answer("json")


@pytest.fixture
def waits(monkeypatch):
    """The seconds waited, with nothing waited in fact and every random time at its longest."""
    waited = []

    async def asleep(seconds):
        waited.append(seconds)

    monkeypatch.setattr(client, "sleep", waited.append)
    monkeypatch.setattr(async_client, "sleep", asleep)
    monkeypatch.setattr(_retry, "uniform", lambda low, high: high)
    return waited


def failing(*failures):
    """Return settings of a client whose service fails so, and then answers; and its requests."""
    left, requests = list(failures), []

    def handle(request):
        requests.append(request)
        if not left:
            return httpx.Response(200, json=ANSWER)
        failure = left.pop(0)
        if isinstance(failure, Exception):
            raise failure
        return httpx.Response(**failure)

    return {"transport": httpx.MockTransport(handle)}, requests


def service_error(status, **fields):
    problem = {"type": "urn:airsched:problem:kind", "status": status, "detail": "why", **fields}
    return {"status_code": status, "json": problem}


BUSY = {"status_code": 503}
PASSING = [
    BUSY,
    service_error(500, retryable=True),
    {"status_code": 502},
    httpx.ConnectError("refused"),
    httpx.ConnectTimeout("slow"),
    httpx.ReadError("reset"),
    httpx.WriteError("reset"),
    httpx.RemoteProtocolError("closed without an answer"),
]
LASTING = [
    ({"status_code": status}, ServiceError)
    for status in (400, 401, 404, 408, 413, 415, 422, 429, 500)
] + [
    ({"status_code": 504}, AnswerTimeoutError),
    # The service itself says that it does not help, or says nothing of it.
    (service_error(503, retryable=False), ServiceError),
    (service_error(503), ServiceError),
    (httpx.ReadTimeout("slow"), AnswerTimeoutError),
    (httpx.WriteTimeout("slow"), AnswerTimeoutError),
    (httpx.PoolTimeout("full"), AnswerTimeoutError),
    (httpx.UnsupportedProtocol("what"), UnreachableError),
]


@pytest.mark.parametrize("failure", PASSING, ids=repr)
def test_repeated_until_it_works(call, waits, failure):
    settings, requests = failing(failure, failure)
    assert isinstance(call("http://test", settings, "schedule", CHANNELS, gamma=1), Schedule)
    assert len(requests) == 3
    assert len({request.content for request in requests}) == 1
    assert waits == [0.1, 0.2]


@pytest.mark.parametrize("failure", PASSING, ids=repr)
@pytest.mark.parametrize("retries", [0, 2])
def test_not_more_often_than_told(call, waits, failure, retries):
    settings, requests = failing(*[failure] * 10)
    with pytest.raises(AirschedError):
        call("http://test", settings | {"retries": retries}, "schedule", CHANNELS, gamma=1)
    assert len(requests) == retries + 1
    assert len(waits) == retries


@pytest.mark.parametrize(("failure", "kind"), LASTING, ids=repr)
def test_not_where_it_cannot_help(call, waits, failure, kind):
    settings, requests = failing(failure)
    with pytest.raises(kind):
        call("http://test", settings, "schedule", CHANNELS, gamma=1)
    assert len(requests) == 1
    assert waits == []


def test_not_an_answer_that_is_not_the_contracts(call, waits):
    settings, requests = failing({"status_code": 200})
    with pytest.raises(AirschedError):
        call("http://test", settings, "schedule", CHANNELS, gamma=1)
    assert len(requests) == 1


def test_waits_double_up_to_a_bound(call, waits):
    settings, _ = failing(*[BUSY] * 9)
    call("http://test", settings | {"retries": 9}, "schedule", CHANNELS, gamma=1)
    assert waits == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10, 10]


def test_waits_stay_bounded_after_very_many_repeats():
    assert 0 <= backoff(UnreachableError("down"), 10**6) <= 10


def test_waits_are_spread_from_nothing(call, waits, monkeypatch):
    drawn = []

    def uniform(low, high):
        drawn.append((low, high))
        return 0.07

    monkeypatch.setattr(_retry, "uniform", uniform)
    settings, _ = failing(BUSY, httpx.ConnectError("refused"))
    call("http://test", settings, "schedule", CHANNELS, gamma=1)
    assert drawn == [(0, 0.1), (0, 0.2)]
    assert waits == [0.07, 0.07]


def test_the_service_says_when(call, waits):
    settings, _ = failing(BUSY | {"headers": {"Retry-After": "2"}})
    call("http://test", settings, "schedule", CHANNELS, gamma=1)
    assert waits == [2.1]


def test_a_wait_exactly_at_the_limit(call, waits):
    settings, _ = failing(BUSY | {"headers": {"Retry-After": "10"}})
    call("http://test", settings, "schedule", CHANNELS, gamma=1)
    assert waits == [10.1]


def test_a_service_that_asks_for_a_longer_wait_is_not_waited_for(call, waits):
    settings, requests = failing(BUSY | {"headers": {"Retry-After": "11"}})
    with pytest.raises(OverloadedError) as caught:
        call("http://test", settings, "schedule", CHANNELS, gamma=1)
    assert caught.value.retry_after == 11
    assert len(requests) == 1
    assert waits == []


def test_a_slow_answer_after_a_restart_is_waited_for(call, waits):
    """Being down before does not use up the repeats of what is too slow."""
    slow = httpx.ReadTimeout("slow")
    settings, requests = failing(*[BUSY] * 5, slow, BUSY, slow)
    call("http://test", settings | {"retries": Patience()}, "schedule", CHANNELS, gamma=1)
    assert len(requests) == 9
    settings, requests = failing(BUSY, slow, slow, slow)
    with pytest.raises(AnswerTimeoutError):
        call("http://test", settings | {"retries": Patience()}, "schedule", CHANNELS, gamma=1)
    assert len(requests) == 4


def test_a_service_that_stays_down_has_the_id_of_the_last_request(call, waits):
    settings, requests = failing(BUSY)
    with pytest.raises(ServiceDownError) as caught:
        call("http://test", settings | {"retries": Patience(0.0)}, "schedule", CHANNELS, gamma=1)
    assert caught.value.request_id == requests[0].headers["x-request-id"]


def test_ready_asks_once(call, waits):
    for failure in (BUSY, httpx.ConnectError("refused"), httpx.ReadTimeout("slow")):
        settings, requests = failing(failure)
        assert call("http://test", settings, "ready") is False
        assert len(requests) == 1


def test_a_service_that_does_not_answer(call):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(AnswerTimeoutError, match=f"{url}/schedule within the timeout"):
            call(url, {"timeout": 0.05}, "schedule", CHANNELS, gamma=1)


def test_a_connection_that_breaks(call, waits):
    """As when a service is replaced: the connection is closed on a request that was sent."""
    with socket.create_server(("127.0.0.1", 0)) as broken:
        seen = []

        def close_each():
            for _ in range(3):
                connection, _ = broken.accept()
                with connection:
                    seen.append(connection.recv(65536))

        thread = threading.Thread(target=close_each)
        thread.start()
        url = f"http://127.0.0.1:{broken.getsockname()[1]}"
        with pytest.raises(UnreachableError):
            call(url, {}, "schedule", CHANNELS, gamma=1)
        thread.join()
    assert len(seen) == 3
    assert len(waits) == 2
