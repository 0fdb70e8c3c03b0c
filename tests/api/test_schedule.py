"""The contract of POST /schedule, over HTTP."""

import re

import msgpack
import numpy as np
import pytest

from app.api.requests import ScheduleRequest
from app.api.responses import ScheduleAnswer
from app.scheduling import SCHEDULERS, Problem, solve
from app.scheduling.schedulers.matching_pursuit import MatchingPursuitParameters
from lab.channels import iid_channels
from tests.api.bodies import nested, packed, unpacked

CHANNELS = iid_channels(np.random.default_rng(30), 4, 8)
ASK = {"channels": nested(CHANNELS), "gamma_db": 1.0}
MSGPACK = {"Content-Type": "application/msgpack", "Accept": "application/msgpack"}


def post(client, body, **headers):
    response = client.post("/schedule", json=body, headers=headers)
    assert response.status_code == 200, response.text
    return response.json()


def test_answer_is_the_cores_schedule(client):
    weights = np.linspace(0.5, 1.5, 8)
    body = {
        "channels": nested(CHANNELS),
        "weights": weights.tolist(),
        "max_error": 0.5,
        "power": 4.0,
        "noise_variance": 0.25,
        "device_ids": [f"phone-{k}" for k in range(8)],
        "algorithm": {"name": "matching_pursuit", "delta": 0.4, "search": "bidirectional"},
        "csi_error": 0.01,
        "seed": 3,
    }
    answer = post(client, body)
    ScheduleAnswer.model_validate(answer)
    problem = Problem(CHANNELS, weights, 4.0 * 0.5 / 0.25, 4.0, 0.25, csi_error=0.01)
    expected = solve(problem, parameters=MatchingPursuitParameters(0.4, "bidirectional"))
    assert answer["feasible"] is True
    assert answer["active"] == expected.active.tolist()
    assert answer["active_ids"] == [f"phone-{k}" for k in expected.active]
    np.testing.assert_array_equal(unpacked(answer["receiver"]), expected.receiver)
    np.testing.assert_array_equal(unpacked(answer["transmit_scalars"]), expected.transmit_scalars)
    assert answer["power_factor"] == expected.power_factor
    assert answer["computation_error"] == expected.computation_error
    assert answer["gamma"] == problem.gamma
    assert answer["algorithm"] == body["algorithm"]
    assert answer["iterations"] == expected.iterations
    assert answer["stopped"] == "converged"


def test_defaults(client):
    answer = post(client, ASK)
    assert answer["algorithm"] == {"name": "matching_pursuit", "delta": 0.55, "search": "backward"}
    assert answer["active_ids"] is None
    assert answer["gamma"] == pytest.approx(10**0.1)
    assert post(client, {**ASK, "algorithm": "matching_pursuit"}) == answer
    assert post(client, {**ASK, "weights": [1] * 8, "power": 1, "noise_variance": 1}) == answer


def test_the_three_tolerances_are_one(client):
    channels = {"channels": ASK["channels"], "power": 2.0, "noise_variance": 0.5}
    answers = [
        post(client, {**channels, "gamma": 4.0}),
        post(client, {**channels, "gamma_db": 10 * np.log10(4.0)}),
        post(client, {**channels, "max_error": 1.0}),
    ]
    for answer in answers[1:]:
        assert answer["gamma"] == pytest.approx(4.0)
        assert answer["active"] == answers[0]["active"]


def test_every_encoding_gives_the_same_schedule(client):
    as_json = post(client, ASK)
    assert post(client, {**ASK, "channels": packed(CHANNELS)}) == as_json
    raw = msgpack.packb({**ASK, "channels": packed(CHANNELS, raw=True)})
    response = client.post("/schedule", content=raw, headers=MSGPACK)
    assert response.headers["content-type"] == "application/msgpack"
    as_msgpack = msgpack.unpackb(response.content)
    ScheduleAnswer.model_validate(as_msgpack)
    for name in ("receiver", "transmit_scalars"):
        assert as_msgpack[name]["dtype"] == "complex128"
        as_msgpack[name] = nested(unpacked(as_msgpack[name]))
    assert as_msgpack == as_json
    # Lists in MessagePack, and a MessagePack question with a JSON answer.
    lists = client.post(
        "/schedule",
        content=msgpack.packb(ASK),
        headers={"Content-Type": "application/msgpack; charset=binary"},
    )
    assert lists.headers["content-type"] == "application/json"
    assert lists.json() == as_json


def test_complex64(client):
    single = CHANNELS.astype(np.complex64)
    answer = post(client, {**ASK, "channels": packed(single, "complex64")})
    assert answer == post(client, {**ASK, "channels": packed(single.astype(np.complex128))})


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_packed_channels_are_not_copied_again(dtype):
    asked = ScheduleRequest.model_validate(
        {**ASK, "channels": packed(CHANNELS.astype(dtype), dtype)}
    )
    (problem,) = asked.problems
    assert np.shares_memory(problem.channels, asked.channels)


def test_null_is_left_out(client):
    nulls = dict.fromkeys(["weights", "gamma", "device_ids", "warm_start", "deadline_ms"])
    assert post(client, {**ASK, **nulls}) == post(client, ASK)


def test_nobody_can_be_served(client):
    answer = post(client, {"channels": nested(np.full((2, 3), 0.1)), "gamma": 1})
    assert answer["feasible"] is False
    assert answer["active"] == []
    assert answer["receiver"] is answer["power_factor"] is answer["computation_error"] is None
    assert unpacked(answer["transmit_scalars"]).tolist() == [0, 0, 0]


def test_all_devices_whatever_the_error(client):
    answer = post(client, {**ASK, "gamma_db": -10, "algorithm": "all_devices"})
    assert answer["active"] == list(range(8))
    assert answer["feasible"] is False
    assert answer["computation_error"] > answer["gamma"]
    assert post(client, {**ASK, "gamma_db": 60, "algorithm": "all_devices"})["feasible"] is True


def test_the_same_question_has_the_same_answer(client):
    assert post(client, ASK) == post(client, ASK)


def test_a_long_solve_agrees_with_the_core(client):
    channels = iid_channels(np.random.default_rng(31), 16, 200)
    response = client.post(
        "/schedule",
        content=msgpack.packb({"channels": packed(channels, raw=True), "gamma": 1}),
        headers=MSGPACK,
    )
    expected = solve(Problem(channels, np.ones(200), 1.0))
    assert msgpack.unpackb(response.content)["active"] == expected.active.tolist()


def test_server_timing(client):
    pattern = r"wait;dur=\d+\.\d+, decode;dur=\d+\.\d+, solve;dur=\d+\.\d+, encode;dur=\d+\.\d+"
    timing = client.post("/schedule", json=ASK).headers["server-timing"]
    assert re.fullmatch(pattern, timing)
    assert "decode;dur=" in client.post("/schedule", json={}).headers["server-timing"]


def test_algorithms(client):
    listed = client.get("/algorithms").json()["algorithms"]
    found = {info["name"]: info for info in listed if "/schedule" in info["endpoints"]}
    assert set(found) == set(SCHEDULERS)
    pursuit = found["matching_pursuit"]
    assert "Bereyhi" in pursuit["reference"]
    delta, search = pursuit["parameters"]
    assert delta["default"] == 0.55
    assert delta["json_schema"] == {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
    assert search["json_schema"]["enum"] == ["backward", "forward", "bidirectional"]
    assert found["all_devices"]["parameters"] == []
    limits = {name: info["max_devices"] for name, info in found.items()}
    assert limits == {name: scheduler.max_devices for name, scheduler in SCHEDULERS.items()}
    assert limits["matching_pursuit"] is None


def test_health(client):
    assert client.get("/health/live").json() == {"status": "live"}
    assert client.get("/health/ready").json() == {"status": "ready"}
