"""The clients against a real service: what they return is what the core finds."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from airsched_client import (
    AsyncSchedulerClient,
    AuthenticationError,
    InvalidRequestError,
    SchedulerClient,
    TooLargeError,
    UnreachableError,
)
from app.scheduling import SCHEDULERS, Problem, solve
from app.scheduling.schedulers.dual_pursuit import DualPursuitParameters
from app.scheduling.schedulers.matching_pursuit import MatchingPursuitParameters
from app.settings import Settings
from lab.channels import iid_channels
from tests.conftest import running_service

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
    csi_error = np.linspace(0, 0.02, 20)
    schedule = scheduler.schedule(
        CHANNELS,
        max_error=10**-0.2 / 2 * 3,
        power=2,
        noise_variance=3,
        algorithm={"name": "dual_pursuit", "starts": 2},
        warm_start=last.receiver,
        coordination="mmse",
        polish=True,
        csi_error=csi_error,
        seed=5,
        deadline_ms=20_000,
    )
    expected = solve(
        Problem(CHANNELS, np.ones(20), schedule.gamma, 2.0, 3.0, csi_error=csi_error),
        "dual_pursuit",
        DualPursuitParameters(2),
        seed=5,
        warm_start=last.receiver,
        coordination="mmse",
        polish=True,
    )
    assert schedule.gamma == pytest.approx(10**-0.2)
    np.testing.assert_array_equal(schedule.active, expected.active)
    np.testing.assert_array_equal(schedule.receiver, expected.receiver)
    assert schedule.computation_error == expected.computation_error


def test_complex64_and_plain_lists(scheduler):
    single = CHANNELS.astype(np.complex64)
    one = scheduler.schedule(single, gamma_db=0)
    other = scheduler.schedule(single.astype(complex).tolist(), gamma_db=0)
    np.testing.assert_array_equal(one.receiver, other.receiver)


def test_devices_first_is_the_same_problem(scheduler):
    one = scheduler.schedule(CHANNELS, gamma_db=0)
    other = scheduler.schedule(CHANNELS.T, layout="devices_first", gamma_db=0)
    np.testing.assert_array_equal(one.receiver, other.receiver)


@pytest.mark.parametrize("encoding", ["msgpack", "json"])
def test_a_schedule_is_frozen(service_url, call, encoding):
    schedule = call(service_url, {"encoding": encoding}, "schedule", CHANNELS, gamma=1)
    for array in (schedule.active, schedule.receiver, schedule.transmit_scalars):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(FrozenInstanceError):
        schedule.gamma = 2


@pytest.mark.parametrize("encoding", ["msgpack", "json"])
def test_nobody(service_url, call, encoding):
    settings = {"encoding": encoding}
    schedule = call(service_url, settings, "schedule", np.full((2, 3), 0.01), gamma=1)
    assert not schedule.feasible
    assert schedule.receiver is None
    assert schedule.power_factor is None
    assert schedule.computation_error is None
    assert schedule.active_ids is None
    assert schedule.active.size == 0
    np.testing.assert_array_equal(schedule.transmit_scalars, np.zeros(3))


def test_algorithms_and_ready(service_url, call):
    found = {
        algorithm.name: algorithm
        for algorithm in call(service_url, {}, "algorithms")
        if "/schedule" in algorithm.endpoints
    }
    assert found.keys() == SCHEDULERS.keys()
    parameters = {item.name: item for item in found["matching_pursuit"].parameters}
    assert parameters["delta"].default == MatchingPursuitParameters().delta
    search = parameters["search"].json_schema["enum"]
    assert set(search) == {"backward", "forward", "bidirectional"}
    assert call(service_url, {}, "ready")


def test_invalid_request_names_the_field(service_url, call):
    with pytest.raises(InvalidRequestError, match="gamma") as caught:
        call(service_url, {}, "schedule", CHANNELS)
    error = caught.value
    assert error.status == 422
    assert error.errors[0]["loc"] == ["gamma"]
    assert error.type == "urn:airsched:problem:invalid-request"
    assert error.cause == "invalid-request"


@pytest.mark.parametrize("encoding", ["msgpack", "json"])
def test_not_a_number_is_refused_by_name(service_url, call, encoding):
    weights = np.array([1.0, np.nan])
    with pytest.raises(InvalidRequestError) as caught:
        call(service_url, {"encoding": encoding}, "schedule", np.eye(2), weights=weights, gamma=1)
    assert caught.value.errors[0]["loc"][0] == "weights"


def test_keys_and_limits(call):
    with running_service(Settings(api_keys="secret", max_body_bytes=1000)) as url:
        for key, cause in ((None, "key-missing"), ("guess", "key-wrong")):
            with pytest.raises(AuthenticationError) as caught:
                call(url, {"api_key": key}, "algorithms")
            assert caught.value.cause == cause
        assert call(url, {"api_key": "secret"}, "algorithms")
        with pytest.raises(TooLargeError, match="1000 bytes"):
            call(url, {"api_key": "secret"}, "schedule", CHANNELS, gamma=1)


def test_unreachable(call):
    settings = {"retries": 0}
    assert not call("http://127.0.0.1:9", settings, "ready")
    with pytest.raises(UnreachableError, match=r"127\.0\.0\.1:9"):
        call("http://127.0.0.1:9", settings, "schedule", CHANNELS, gamma=1)


def test_threads_share_a_client(scheduler):
    gammas = np.linspace(0.2, 2, 40)
    together = threading.Barrier(8)

    def ask(gamma):
        together.wait(30)
        return scheduler.schedule(CHANNELS, gamma=gamma)

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(ask, gammas))
    for gamma, schedule in zip(gammas, found, strict=True):
        expected = solve(Problem(CHANNELS, np.ones(20), gamma))
        np.testing.assert_array_equal(schedule.receiver, expected.receiver)


def test_many_calls_at_once(service_url):
    gammas = np.linspace(0.2, 2, 40)

    async def run():
        async with AsyncSchedulerClient(service_url, max_connections=8) as scheduler:
            calls = [scheduler.schedule(CHANNELS, gamma=gamma) for gamma in gammas]
            return await asyncio.gather(*calls)

    for gamma, schedule in zip(gammas, asyncio.run(run()), strict=True):
        expected = solve(Problem(CHANNELS, np.ones(20), gamma))
        np.testing.assert_array_equal(schedule.receiver, expected.receiver)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"base_url": "127.0.0.1:8000"}, "base_url must begin with http://"),
        ({"encoding": "xml"}, "encoding must be one of msgpack, json"),
        ({"retries": -1}, "retries must be 0 or more"),
    ],
)
@pytest.mark.parametrize("kind", [SchedulerClient, AsyncSchedulerClient])
def test_settings_that_cannot_work(kind, settings, message):
    with pytest.raises(ValueError, match=message):
        kind(**{"base_url": "http://test", **settings})
