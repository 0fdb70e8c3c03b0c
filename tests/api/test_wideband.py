"""``POST /schedule/wideband``."""

import msgpack
import numpy as np
import pytest

from app.api.wideband import WidebandAnswer
from app.scheduling import WidebandProblem, solve
from lab.channels import iid_band
from tests.api.bodies import nested, packed, unpacked

RNG = np.random.default_rng(150)
CHANNELS = iid_band(RNG, 3, 4, 9, taps=2)
WEIGHTS = RNG.uniform(0.5, 1.5, 9)
IDS = [f"device {index}" for index in range(9)]
ROUND = {"channels": nested(CHANNELS), "weights": WEIGHTS.tolist(), "gamma_db": 1}
PATH = "/schedule/wideband"


def post(client, body):
    response = client.post(PATH, json=body)
    assert response.status_code == 200, response.text
    return response.json()


def refused(client, body):
    response = client.post(PATH, json=body)
    assert response.status_code == 422, response.text
    (error,) = response.json()["errors"]
    return error


@pytest.mark.parametrize("criterion", ["mean", "each"])
@pytest.mark.parametrize("algorithm", ["dual_pursuit", "matching_pursuit", "intersection"])
def test_what_is_answered_follows_from_the_channels(client, criterion, algorithm):
    power, noise = 2.0, 0.5
    asked = {"criterion": criterion, "algorithm": algorithm, "device_ids": IDS, "gamma_db": 6}
    answer = post(client, ROUND | asked | {"power": power, "noise_variance": noise})
    WidebandAnswer.model_validate(answer)
    active = answer["active"]
    assert active
    assert answer["active_ids"] == [IDS[k] for k in active]
    receivers, scalars = unpacked(answer["receivers"]), unpacked(answer["transmit_scalars"])
    assert scalars.shape == (3, 9)
    assert np.flatnonzero(scalars.any(axis=0)).tolist() == active
    assert np.abs(scalars).max() <= np.sqrt(power) * (1 + 1e-9)
    for f in range(3):
        c = receivers[f]
        assert np.linalg.norm(c) == pytest.approx(1)
        responses = CHANNELS[f][:, active].conj().T @ c
        eta = power * (np.abs(responses) ** 2 / WEIGHTS[active] ** 2).min()
        assert answer["power_factors"][f] == pytest.approx(eta)
        assert answer["computation_errors"][f] == pytest.approx(noise / eta)
        received = responses.conj() * scalars[f, active] / np.sqrt(eta)
        np.testing.assert_allclose(received, WEIGHTS[active])
    errors = answer["computation_errors"]
    compared = np.mean(errors) if criterion == "mean" else max(errors)
    assert answer["computation_error"] == pytest.approx(compared)
    assert compared <= 10**0.6 * noise / power * (1 + 1e-8)
    assert answer["feasible"]


def test_every_encoding_gives_what_the_core_gives(client):
    expected = post(client, ROUND | {"channels": packed(CHANNELS)})
    assert post(client, ROUND) == expected
    media_type = "application/msgpack"
    content = msgpack.packb(ROUND | {"channels": packed(CHANNELS, raw=True)})
    headers = {"Content-Type": media_type, "Accept": media_type}
    answer = msgpack.unpackb(client.post(PATH, content=content, headers=headers).content)
    core = solve(WidebandProblem(CHANNELS, WEIGHTS, 10**0.1), "dual_pursuit")
    assert answer["active"] == expected["active"] == core.active.tolist()
    np.testing.assert_array_equal(unpacked(answer["receivers"]), core.receiver)
    np.testing.assert_array_equal(unpacked(expected["receivers"]), core.receiver)
    np.testing.assert_array_equal(unpacked(answer["transmit_scalars"]), core.transmit_scalars)
    assert answer["power_factors"] == core.power_factors.tolist()
    assert answer["computation_errors"] == core.computation_errors.tolist()


def test_nobody_served_is_an_answer(client):
    answer = post(client, ROUND | {"gamma_db": -60})
    assert not answer["feasible"]
    for name in ("receivers", "power_factors", "computation_errors", "computation_error"):
        assert answer[name] is None
    assert not unpacked(answer["transmit_scalars"]).any()


def test_options(client):
    plain = post(client, ROUND)
    start = nested(unpacked(plain["receivers"]))
    warm = post(client, ROUND | {"warm_start": start, "polish": True, "coordination": "mmse"})
    assert warm["computation_error"] < plain["computation_error"]
    bounded = post(client, ROUND | {"bound": True, "bound_ms": 500, "criterion": "each"})
    assert bounded["upper_bound"] >= len(bounded["active"])
    assert bounded["optimal"] == (bounded["upper_bound"] == len(bounded["active"]))
    first = post(client, ROUND | {"priorities": [1000.0] + [0.001] * 8})
    assert 0 in first["active"]
    tried = post(client, ROUND | {"algorithm": {"name": "dual_pursuit", "starts": 40}})
    assert tried["algorithm"] == {"name": "dual_pursuit", "starts": 40}
    assert len(tried["active"]) >= len(plain["active"])


def test_devices_that_must_or_must_not_take_part(client):
    asked = ROUND | {"device_ids": IDS, "excluded": ["device 2"], "required": [0, "device 5"]}
    answer = post(client, asked | {"gamma_db": 8})
    assert {0, 5} <= set(answer["active"])
    assert 2 not in answer["active"]
    nobody = post(client, asked | {"gamma_db": -20})
    WidebandAnswer.model_validate(nobody)
    assert nobody["active"] == []
    assert set(nobody["required_missing"]) <= {0, 5}
    assert nobody["required_gamma"] > 0.01
    enough = {"gamma": nobody["required_gamma"] * 1.0001, "gamma_db": None}
    assert {0, 5} <= set(post(client, asked | enough)["active"])


def test_power_limits_and_covariance(client):
    limits = np.linspace(0.3, 2.0, 9)
    noise = CHANNELS[0][:, :1] @ CHANNELS[0][:, :1].conj().T + np.eye(CHANNELS.shape[1])
    cell = {"power": limits.tolist(), "noise_covariance": nested(noise), "gamma_db": 6}
    answer = post(client, ROUND | cell)
    active = answer["active"]
    assert active
    receivers, scalars = unpacked(answer["receivers"]), unpacked(answer["transmit_scalars"])
    assert (np.abs(scalars) ** 2 <= limits * (1 + 1e-9)).all()
    for f in range(3):
        eta = answer["power_factors"][f]
        received = receivers[f].conj() @ CHANNELS[f][:, active] * scalars[f, active]
        np.testing.assert_allclose(received / np.sqrt(eta), WEIGHTS[active], rtol=1e-6)
        through = np.vdot(receivers[f], noise @ receivers[f]).real
        assert answer["computation_errors"][f] == pytest.approx(through / eta, rel=1e-6)


@pytest.mark.parametrize(
    ("changed", "field", "message"),
    [
        ({"excluded": [9]}, "excluded", "0 to 8"),
        ({"required": [1], "excluded": [1]}, "required", "excluded as well"),
        ({"power": [1.0] * 8}, "power", "9, one per device"),
        ({"noise_covariance": nested(np.eye(3))}, "noise_covariance", "4 × 4"),
        ({"channels": nested(CHANNELS[0])}, "channels", ""),
        ({"criterion": "worst"}, "criterion", "'mean' or 'each'"),
        ({"algorithm": "dc"}, "algorithm", "dual_pursuit, intersection, matching_pursuit"),
        ({"warm_start": nested(np.ones(4))}, "warm_start", ""),
        ({"warm_start": nested(np.ones((4, 3)))}, "warm_start", "[3, 4]"),
        ({"weights": [1.0] * 8}, "weights", "9 numbers"),
        ({"gamma": 1.0}, "gamma", "exactly one"),
        ({"bound": True, "priorities": [1.0] * 9}, "bound", "priorities"),
        ({"total_power": 3.0}, "total_power", ""),
    ],
)
def test_what_is_wrong_is_named(client, changed, field, message):
    response = client.post(PATH, json=ROUND | changed)
    assert response.status_code == 422, response.text
    error = response.json()["errors"][0]
    assert error["loc"][0] == field
    assert message in error["msg"]


def test_too_many_subcarriers_are_refused_before_anything_else(client):
    channels = packed(np.zeros((70_000, 1, 1)))
    error = refused(client, {"channels": channels, "gamma": 1.0})
    assert "subcarriers" in error["msg"]


def test_is_among_the_algorithms(client):
    found = {
        item["name"]: item
        for item in client.get("/algorithms").json()["algorithms"]
        if item["endpoints"] == [PATH]
    }
    assert found.keys() == {"dual_pursuit", "matching_pursuit", "intersection"}
    assert all(item["takes_priorities"] for item in found.values())
