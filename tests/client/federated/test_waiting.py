"""What the loop and its command do while the service is down."""

import json

import httpx
import numpy as np
import pytest

from airsched_client import (
    AnswerTimeoutError,
    DeadlineError,
    InvalidRequestError,
    Patience,
    SchedulerClient,
    ServiceDownError,
    _retry,
)
from airsched_client import client as client_module
from airsched_client.federated.__main__ import main
from airsched_client.federated.checkpoint import read_records
from airsched_client.federated.comparison import compare
from airsched_client.federated.experiment import Experiment
from tests.client.federated.small import ONE, SMALL, assert_same


class Fragile(httpx.BaseTransport):
    """A way to the service that can be down, in one of several manners."""

    def __init__(self, manner):
        self.manner, self.down = manner, False
        self._real = httpx.HTTPTransport()

    def handle_request(self, request):
        if not self.down:
            return self._real.handle_request(request)
        if self.manner == "unreachable":
            raise httpx.ConnectError("refused", request=request)
        if self.manner == "silent":
            raise httpx.ReadTimeout("silence", request=request)
        if self.manner == "late":
            problem = {"type": "urn:airsched:problem:deadline-passed", "retryable": False}
            return httpx.Response(504, json=problem)
        status = {"overloaded": 503, "behind a gateway": 502, "slow gateway": 504}[self.manner]
        return httpx.Response(status, json={"detail": "not now"}, headers={"Retry-After": "7"})

    def close(self):
        self._real.close()


WAYS_TO_BE_DOWN = {
    "unreachable": 0,
    "silent": 0,
    "slow gateway": 0,
    "late": 0,
    "overloaded": 7,
    "behind a gateway": 7,
}
"""And the seconds that the service asks to wait for."""


SLOW = ("silent", "slow gateway", "late")


@pytest.mark.parametrize("manner", WAYS_TO_BE_DOWN)
def test_waits_while_the_service_is_down(service_url, scheduler, tmp_path, manner, monkeypatch):
    monkeypatch.setattr(_retry, "uniform", lambda low, high: high)
    compare(ONE, scheduler, tmp_path / "undisturbed")
    transport, slept, told = Fragile(manner), [], []
    times = 2 if manner in SLOW else 5

    def sleep(seconds):
        slept.append(seconds)
        if len(slept) % times == 0:
            transport.down = False

    def on_round(record):
        transport.down = True

    monkeypatch.setattr(client_module, "sleep", sleep)
    monkeypatch.setattr(client_module, "monotonic", lambda: 0.0)
    patience = Patience(tell=told.append)
    with SchedulerClient(service_url, retries=0, transport=transport) as fragile:
        compare(ONE, fragile, tmp_path / "waited", patience=patience, on_round=on_round)
    assert_same(tmp_path / "undisturbed", tmp_path / "waited")
    # Down before each of three rounds: the client's back-off, after what the service asks for.
    asked = WAYS_TO_BE_DOWN[manner]
    waits = (0.1, 0.2, 0.4, 0.8, 1.6)[:times]
    assert slept == pytest.approx(3 * [asked + wait for wait in waits])
    assert len(told) == len(slept)


@pytest.mark.parametrize("manner", SLOW)
def test_a_request_that_is_too_slow_is_not_repeated_for_minutes(service_url, manner, monkeypatch):
    """The same request fails again: two repeats, and then the loop ends."""
    transport, slept = Fragile(manner), []
    transport.down = True

    def sleep(seconds):
        slept.append(seconds)
        assert len(slept) <= 2

    monkeypatch.setattr(client_module, "sleep", sleep)
    patience, failures = Patience(600.0), (AnswerTimeoutError, DeadlineError)
    with (
        SchedulerClient(service_url, retries=patience, transport=transport) as slow,
        pytest.raises(failures),
    ):
        slow.schedule(np.ones((2, 3)), gamma=1)
    assert len(slept) == 2


def test_stops_when_the_service_stays_down_and_loses_nothing(
    service_url, scheduler, tmp_path, monkeypatch
):
    compare(ONE, scheduler, tmp_path / "undisturbed")
    transport, slept = Fragile("unreachable"), []

    def on_round(record):
        transport.down = record.round == 1

    with SchedulerClient(service_url, retries=0, transport=transport) as fragile:
        monkeypatch.setattr(client_module, "sleep", slept.append)
        monkeypatch.setattr(client_module, "monotonic", lambda: sum(slept))
        patience = Patience(total=60.0)
        with pytest.raises(ServiceDownError, match=r"down for 60 s.*127\.0\.0\.1"):
            compare(ONE, fragile, tmp_path / "left", patience=patience, on_round=on_round)
    assert sum(slept) == pytest.approx(60)
    assert [record.round for record in read_records(tmp_path / "left")] == [0, 1]
    compare(ONE, scheduler, tmp_path / "left", resume=True)
    assert_same(tmp_path / "undisturbed", tmp_path / "left")


def test_the_command_says_how_to_go_on(capsys, tmp_path):
    arguments = ["--url", "http://127.0.0.1:9", "--patience", "0", "--output", str(tmp_path)]
    assert main([*arguments, "--policies", "sdr"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "was down for 0 s" in said
    assert "--resume" in said
    assert json.loads((tmp_path / "experiment.json").read_text())["policies"] == ["sdr"]


def test_the_command_finds_the_service_by_the_environment(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("AIRSCHED_URL", "http://127.0.0.1:9")
    assert main(["--patience", "0", "--output", str(tmp_path), "--policies", "sdr"]) == 1
    assert "127.0.0.1:9" in capsys.readouterr().out


def test_an_invalid_request_is_not_repeated(scheduler, tmp_path, monkeypatch):
    experiment = Experiment(policies=("no_such",), network=SMALL.network, samples=120)
    slept = []
    monkeypatch.setattr(client_module, "sleep", slept.append)
    with pytest.raises(InvalidRequestError, match="algorithm"):
        compare(experiment, scheduler, tmp_path)
    assert slept == []
