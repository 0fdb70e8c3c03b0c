"""The client against a real service: what it returns is what the core finds."""

import httpx
import numpy as np
import pytest

from airsched_client import (
    AuthenticationError,
    DeadlineError,
    InvalidRequestError,
    OverloadedError,
    SchedulerClient,
    ServiceError,
    UnreachableError,
)
from app.scheduling import Context, Problem, solve
from app.scheduling.schedulers.dual_pursuit import DualPursuitParameters
from app.scheduling.schedulers.matching_pursuit import MatchingPursuitParameters
from tests.channels import iid_channels

CHANNELS = iid_channels(np.random.default_rng(60), 6, 20)


@pytest.fixture(scope="module")
def scheduler(service_url):
    with SchedulerClient(service_url) as scheduler:
        yield scheduler


def test_schedule_is_the_cores(scheduler):
    weights = np.linspace(0.5, 1.5, 20)
    names = [f"d{k}" for k in range(20)]
    schedule = scheduler.schedule(
        CHANNELS,
        weights=weights,
        gamma=2.0,
        power=3.0,
        device_ids=names,
        algorithm={"name": "matching_pursuit", "delta": 0.3},
    )
    problem = Problem(CHANNELS, weights, 2.0, power=3.0)
    expected = solve(problem, parameters=MatchingPursuitParameters(0.3))
    np.testing.assert_array_equal(schedule.active, expected.active)
    np.testing.assert_array_equal(schedule.receiver, expected.receiver)
    np.testing.assert_array_equal(schedule.transmit_scalars, expected.transmit_scalars)
    assert schedule.power_factor == expected.power_factor
    assert schedule.computation_error == expected.computation_error
    assert schedule.active_ids == tuple(names[k] for k in expected.active)
    assert schedule.algorithm == {"name": "matching_pursuit", "delta": 0.3, "search": "backward"}
    assert schedule.feasible


def test_every_option_reaches_the_core(scheduler):
    last = scheduler.schedule(CHANNELS, gamma_db=-2, algorithm="dual_pursuit")
    schedule = scheduler.schedule(
        CHANNELS,
        gamma_db=-2,
        algorithm={"name": "dual_pursuit", "starts": 2},
        warm_start=last.receiver,
        coordination="mmse",
        polish=True,
        csi_error=0.01,
        seed=5,
    )
    expected = solve(
        Problem(CHANNELS, np.ones(20), 10**-0.2, csi_error=0.01),
        "dual_pursuit",
        DualPursuitParameters(2),
        Context(5, warm_start=last.receiver),
        coordination="mmse",
        polish=True,
    )
    np.testing.assert_array_equal(schedule.active, expected.active)
    np.testing.assert_array_equal(schedule.receiver, expected.receiver)
    assert schedule.computation_error == expected.computation_error


def test_complex64_and_plain_lists(scheduler):
    single = CHANNELS.astype(np.complex64)
    one = scheduler.schedule(single, gamma_db=0)
    other = scheduler.schedule(single.astype(complex).tolist(), gamma_db=0)
    np.testing.assert_array_equal(one.receiver, other.receiver)


def test_nobody(scheduler):
    schedule = scheduler.schedule(np.full((2, 3), 0.01), gamma=1)
    assert not schedule.feasible
    assert schedule.receiver is None
    assert schedule.active.size == 0


def test_algorithms_and_ready(scheduler):
    assert "matching_pursuit" in {info["name"] for info in scheduler.algorithms()}
    assert scheduler.ready()


def test_invalid_request_names_the_field(scheduler):
    with pytest.raises(InvalidRequestError, match="gamma") as caught:
        scheduler.schedule(CHANNELS)
    assert caught.value.status == 422
    assert caught.value.errors[0]["loc"] == ["gamma"]


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, AuthenticationError),
        (413, InvalidRequestError),
        (500, ServiceError),
        (503, OverloadedError),
        (504, DeadlineError),
    ],
)
def test_every_error_has_its_kind(status, kind):
    def answer(request):
        assert request.headers["authorization"] == "Bearer secret"
        return httpx.Response(
            status, json={"detail": "why", "status": status}, headers={"Retry-After": "2"}
        )

    transport = httpx.MockTransport(answer)
    with (
        SchedulerClient("http://test", api_key="secret", transport=transport) as scheduler,
        pytest.raises(kind, match="why") as caught,
    ):
        scheduler.schedule(CHANNELS, gamma=1)
    assert type(caught.value) is kind
    assert caught.value.retry_after == 2


def test_an_answer_from_something_between():
    transport = httpx.MockTransport(lambda request: httpx.Response(502, text="<html>bad gateway"))
    with (
        SchedulerClient("http://test", transport=transport) as scheduler,
        pytest.raises(ServiceError, match="502: <html>bad gateway"),
    ):
        scheduler.algorithms()


def test_unreachable():
    with SchedulerClient("http://127.0.0.1:9") as scheduler:
        assert not scheduler.ready()
        with pytest.raises(UnreachableError, match=r"127\.0\.0\.1:9"):
            scheduler.schedule(CHANNELS, gamma=1)
