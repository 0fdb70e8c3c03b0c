"""Every kind of failure is an exception of its own that says what the service said."""

import pickle
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import numpy as np
import pytest

from airsched_client import (
    AirschedError,
    AnswerTimeoutError,
    AuthenticationError,
    DeadlineError,
    InvalidRequestError,
    NotFoundError,
    OverloadedError,
    ServiceError,
    TooLargeError,
    UnexpectedAnswerError,
)
from tests.client.test_calls import schedule_answer

KIND = "urn:airsched:problem:kind"
CHANNELS = np.eye(2)
MSGPACK = "application/msgpack"


def answering(status, **answer):
    transport = httpx.MockTransport(lambda request: httpx.Response(status, **answer))
    return {"retries": 0, "transport": transport}


def problem(status, **more):
    body = {"type": KIND, "title": "Kind", "status": status, "detail": "why", **more}
    return answering(status, json=body)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, InvalidRequestError),
        (401, AuthenticationError),
        (403, AuthenticationError),
        (404, NotFoundError),
        (405, InvalidRequestError),
        (413, TooLargeError),
        (415, InvalidRequestError),
        (422, InvalidRequestError),
        (429, OverloadedError),
        (500, ServiceError),
        (503, OverloadedError),
        (504, DeadlineError),
    ],
)
def test_every_status_has_its_kind(call, status, kind):
    wrong = [{"loc": ["gamma"], "msg": "must be positive"}]
    with pytest.raises(kind, match=f"{status}: why") as caught:
        call("http://test", problem(status, errors=wrong), "algorithms")
    error = caught.value
    assert type(error) is kind
    assert isinstance(error, AirschedError)
    assert (error.status, error.title, error.type, error.detail) == (
        status,
        "Kind",
        KIND,
        "why",
    )
    assert error.cause == "kind"
    assert error.errors == tuple(wrong)
    assert error.retry_after is None
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind
    assert vars(copy) == vars(error)
    assert str(copy) == str(error)


@pytest.mark.parametrize("method", ["schedule_irs", "schedule_batch"])
def test_a_service_without_the_route(call, method):
    arguments = [np.ones((2, 3)), np.ones((2, 4)), np.ones((4, 3))]
    if method == "schedule_batch":
        arguments = [np.ones((5, 2, 3))]
    with pytest.raises(NotFoundError, match="as new as this client"):
        call("http://test", problem(404), method, *arguments, gamma=1)


@pytest.mark.parametrize(
    ("status", "answer", "words"),
    [
        (502, {"text": "<html>bad gateway"}, "502: <html>bad gateway"),
        (500, {"json": ["not a problem"]}, "500: .*not a problem"),
        (503, {}, "503: Service Unavailable"),
        (308, {"headers": {"Location": "https://elsewhere/"}}, "a redirect to https://elsewhere/"),
    ],
)
def test_an_answer_from_something_between(call, status, answer, words):
    with pytest.raises(ServiceError, match=words) as caught:
        call("http://test", answering(status, **answer), "algorithms")
    assert caught.value.cause == ""


@pytest.mark.parametrize("answer", [{"text": "<html>"}, {"json": {"detail": "upstream timeout"}}])
def test_a_gateway_that_gave_up_waiting(call, answer):
    """The service's own 504 is a DeadlineError; it said so, and here it said nothing."""
    words = "no answer from http://test/algorithms before a gateway gave up"
    with pytest.raises(AnswerTimeoutError, match=words):
        call("http://test", answering(504, **answer), "algorithms")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"text": "<html>"}, "Content-Type is text/plain"),
        ({}, "Content-Type is missing"),
        ({"json": {"algorithms": []}}, "'feasible' is missing"),
        ({"json": [1]}, "http://test/schedule did not answer as airsched"),
        ({"content": b"{", "headers": {"Content-Type": "application/json"}}, "did not answer as"),
        ({"content": b"\xc1", "headers": {"Content-Type": MSGPACK}}, "did not answer as"),
    ],
)
def test_an_answer_that_is_not_the_contracts(call, answer, words):
    with pytest.raises(UnexpectedAnswerError, match=words):
        call("http://test", answering(200, **answer), "schedule", CHANNELS, gamma=1)


def test_a_name_for_too_few_devices_is_not_the_contracts(call):
    answer = {"device_ids": ["a"], "schedules": [{**schedule_answer("json"), "active": [1]}]}
    with pytest.raises(UnexpectedAnswerError, match="http://test/schedule/batch did not answer as"):
        call("http://test", answering(200, json=answer), "schedule_batch", CHANNELS[None], gamma=1)


def retry_after(call, value):
    with pytest.raises(OverloadedError) as caught:
        call("http://test", answering(503, headers={"Retry-After": value}), "algorithms")
    return caught.value.retry_after


def test_retry_after(call):
    assert retry_after(call, "2") == 2
    assert retry_after(call, "soon") is None
    date = datetime.now(UTC) + timedelta(seconds=60)
    assert 50 < retry_after(call, format_datetime(date, usegmt=True)) <= 60
    assert retry_after(call, "Wed, 21 Oct 2015 07:28:00 GMT") == 0
    assert retry_after(call, "Wed, 21 Oct 2015 07:28:00 -0000") == 0
