"""The client against the service's table of errors: what it raises, and what it repeats."""

import httpx
import numpy as np
import pytest

from airsched_client import (
    AirschedError,
    Patience,
    ServiceError,
    async_client,
    client,
)
from app.api.errors import Cause
from app.execution.processes import _Worker
from app.scheduling import Problem, solve
from lab.channels import iid_channels
from tests.client.test_calls import schedule_answer

CHANNELS = np.ones((3, 5))
causes = pytest.mark.parametrize("cause", Cause, ids=lambda cause: cause.slug)


def failing_once(cause):
    """Return settings of a client whose service fails once for this cause; and its requests."""
    row, requests = cause.value, []
    problem = {
        "type": cause.type,
        "title": row.title,
        "status": row.status,
        "detail": row.detail,
        "retryable": row.retryable,
    }

    def handle(request):
        requests.append(request)
        if len(requests) > 1:
            return httpx.Response(200, json=schedule_answer("json"))
        return httpx.Response(row.status, json=problem, headers=row.headers)

    return {"transport": httpx.MockTransport(handle)}, requests


@pytest.fixture
def no_waits(monkeypatch):
    async def asleep(seconds):
        pass

    monkeypatch.setattr(client, "sleep", lambda seconds: None)
    monkeypatch.setattr(async_client, "sleep", asleep)


@causes
def test_the_client_repeats_just_what_the_table_marks(call, no_waits, cause):
    settings, requests = failing_once(cause)
    if cause.value.retryable:
        call("http://test", settings, "schedule", CHANNELS, gamma=1)
        assert len(requests) == 2
    else:
        with pytest.raises(AirschedError):
            call("http://test", settings, "schedule", CHANNELS, gamma=1)
        assert len(requests) == 1


@causes
def test_patience_repeats_what_the_table_marks_and_a_missed_deadline(call, no_waits, cause):
    """The loop has the time to try again what was too slow under load."""
    settings, requests = failing_once(cause)
    settings["retries"] = Patience()
    if cause.value.retryable or cause is Cause.DEADLINE_PASSED:
        call("http://test", settings, "schedule", CHANNELS, gamma=1)
        assert len(requests) == 2
    else:
        with pytest.raises(AirschedError):
            call("http://test", settings, "schedule", CHANNELS, gamma=1)
        assert len(requests) == 1


@causes
def test_each_error_has_a_class(call, cause):
    settings, _ = failing_once(cause)
    with pytest.raises(ServiceError) as caught:
        call("http://test", {**settings, "retries": 0}, "schedule", CHANNELS, gamma=1)
    error, row = caught.value, cause.value
    assert (error.cause, error.status, error.title) == (cause.slug, row.status, row.title)
    assert error.retryable is row.retryable
    # Only for the service's own failures is there none but the base class.
    assert (type(error) is ServiceError) == (row.status == 500)


def test_a_solve_whose_process_died_is_repeated(service_url, call, monkeypatch):
    run, killed = _Worker.run, []

    def run_or_die(self, work):
        if not killed:
            killed.append(self)
            self.kill()
        return run(self, work)

    monkeypatch.setattr(_Worker, "run", run_or_die)
    channels = iid_channels(np.random.default_rng(60), 4, 8)
    found = call(service_url, {}, "schedule", channels, gamma=1, algorithm="dc")
    assert killed
    expected = solve(Problem(channels, np.ones(8), 1.0), "dc")
    assert found.active.tolist() == expected.active.tolist()
