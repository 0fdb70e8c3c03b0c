"""The fields that describe a cell, over HTTP."""

import msgpack
import numpy as np
import pytest

from lab.channels import iid_channels
from tests.api.bodies import nested

CHANNELS = iid_channels(np.random.default_rng(5), 4, 8)
NOISE = CHANNELS[:, :2] @ CHANNELS[:, :2].conj().T + np.eye(4)
REQUEST = {"channels": nested(CHANNELS), "max_error": 3.0, "algorithm": "dual_pursuit"}
IDS = [f"device-{k}" for k in range(8)]


def complex_of(value):
    return np.array(value["real"]) + 1j * np.array(value["imag"])


@pytest.mark.parametrize("route", ["/schedule", "/schedule/batch", "/schedule/frontier"])
def test_power_limits_and_covariance(client, route):
    limits = np.linspace(0.2, 3, 8)
    body = REQUEST | {"power": limits.tolist(), "noise_covariance": nested(NOISE)}
    if route == "/schedule/batch":
        body["channels"] = nested(CHANNELS[None])
    answer = client.post(route, json=body)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    schedule = found.get("schedules", found.get("points", [found]))[-1]
    active, scalars = schedule["active"], complex_of(schedule["transmit_scalars"])
    receiver, factor = complex_of(schedule["receiver"]), schedule["power_factor"]
    assert active
    assert (np.abs(scalars) ** 2 <= limits * (1 + 1e-9)).all()
    sums = receiver.conj() @ CHANNELS[:, active] * scalars[active] / np.sqrt(factor)
    assert sums == pytest.approx(np.ones(len(active)), rel=1e-6)
    error = np.vdot(receiver, NOISE @ receiver).real / factor
    assert schedule["computation_error"] == pytest.approx(error, rel=1e-6)
    assert error <= 3.0 * (1 + 1e-6)


def test_equal_limits_are_one_limit(client):
    one = client.post("/schedule", json=REQUEST | {"power": 2.0}).json()
    many = client.post("/schedule", json=REQUEST | {"power": [2.0] * 8}).json()
    assert one == many


def test_names_and_indices_mean_the_same(client):
    body = REQUEST | {"device_ids": IDS}
    fields = {"excluded": [3], "required": [1], "previous": [0, 2]}
    named = {name: [IDS[k] for k in value] for name, value in fields.items()}
    by_index = client.post("/schedule", json=body | fields).json()
    assert client.post("/schedule", json=body | named).json() == by_index
    assert "device-1" in by_index["active_ids"]
    assert "device-3" not in by_index["active_ids"]


def test_required_devices_that_cannot_be_served(client):
    weak = CHANNELS.copy()
    weak[:, 6] *= 1e-3
    body = REQUEST | {"channels": nested(weak), "required": [0, 6]}
    answer = client.post("/schedule", json=body).json()
    assert not answer["feasible"]
    assert answer["active"] == []
    assert answer["required_missing"] == [6]
    again = {key: value for key, value in body.items() if key != "max_error"}
    again["gamma"] = answer["required_gamma"] * 1.000001
    assert {0, 6} <= set(client.post("/schedule", json=again).json()["active"])


@pytest.mark.parametrize(
    ("fields", "loc", "message"),
    [
        ({"power": [1.0, 2.0]}, "power", "8, one per device"),
        ({"power": []}, "power", "one per device"),
        ({"power": [1.0] * 7 + [0.0]}, "power", "excluded"),
        ({"excluded": [8]}, "excluded", "0 to 7"),
        ({"excluded": [-1]}, "excluded", "0 to 7"),
        ({"excluded": ["x"]}, "excluded", "need device_ids"),
        ({"excluded": list(range(8))}, "excluded", "no device"),
        ({"excluded": [1], "required": [1]}, "required", "excluded as well"),
        ({"previous": [1], "priorities": [1.0] * 8}, "previous", "priorities"),
        ({"noise_covariance": nested(np.eye(3))}, "noise_covariance", "4 × 4"),
        ({"noise_covariance": nested(np.zeros((4, 4)))}, "noise_covariance", "every antenna"),
        (
            {"noise_covariance": nested(np.eye(4)), "noise_variance": 1.0},
            "noise_covariance",
            "leave out one",
        ),
        ({"required": [0], "algorithm": "random"}, "required", "random takes no"),
    ],
)
def test_what_is_wrong_is_named(client, fields, loc, message):
    answer = client.post("/schedule", json=REQUEST | fields)
    assert answer.status_code == 422, answer.text
    (error,) = answer.json()["errors"]
    assert error["loc"][0] == loc
    assert message in error["msg"]


def test_many_antennas_for_few_devices(client):
    channels = iid_channels(np.random.default_rng(1), 64, 3)
    answer = client.post("/schedule", json=REQUEST | {"channels": nested(channels)}).json()
    receiver = complex_of(answer["receiver"])
    assert np.linalg.norm(receiver) == pytest.approx(1)
    assert len(receiver) == 64
    # In the span of the channels: nothing else can be heard.
    basis, _ = np.linalg.qr(channels)
    assert np.linalg.norm(basis.conj().T @ receiver) == pytest.approx(1)


SURFACE = {
    "direct": nested(CHANNELS),
    "irs_to_server": nested(iid_channels(np.random.default_rng(6), 4, 5)),
    "devices_to_irs": nested(iid_channels(np.random.default_rng(7), 5, 8) / 3),
    "max_error": 1.5,
    "algorithm": "dual_pursuit",
}


def test_every_field_with_a_surface(client):
    limits = np.linspace(0.2, 3, 8)
    body = SURFACE | {
        "power": limits.tolist(),
        "noise_covariance": nested(NOISE),
        "device_ids": IDS,
        "excluded": ["device-3"],
        "required": ["device-1", "device-6"],
        "previous": [0, 2],
        "bound": True,
    }
    answer = client.post("/schedule/irs", json=body)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    active, scalars = found["active"], complex_of(found["transmit_scalars"])
    receiver, factor = complex_of(found["receiver"]), found["power_factor"]
    assert {1, 6} <= set(active)
    assert 3 not in active
    assert len(active) <= found["upper_bound"] <= 7
    assert (np.abs(scalars) ** 2 <= limits * (1 + 1e-9)).all()
    to_server, to_surface = (
        complex_of(SURFACE[name]) for name in ("irs_to_server", "devices_to_irs")
    )
    tuned = CHANNELS + (to_server * complex_of(found["phases"])) @ to_surface
    sums = receiver.conj() @ tuned[:, active] * scalars[active] / np.sqrt(factor)
    assert sums == pytest.approx(np.ones(len(active)), rel=1e-6)
    error = np.vdot(receiver, NOISE @ receiver).real / factor
    assert found["computation_error"] == pytest.approx(error, rel=1e-6)


def test_required_devices_that_no_phases_serve(client):
    answer = client.post("/schedule/irs", json=SURFACE | {"required": [0, 6], "max_error": 1e-3})
    found = answer.json()
    assert not found["feasible"]
    assert found["active"] == []
    assert found["required_missing"]
    again = SURFACE | {"required": [0, 6], "max_error": found["required_gamma"] * 1.000001}
    assert {0, 6} <= set(client.post("/schedule/irs", json=again).json()["active"])


def servable(client, body, device):
    return client.post("/schedule/irs", json=body | {"required": [device]}).json()["feasible"]


def test_priorities_with_a_surface(client):
    body = SURFACE | {"max_error": 0.2}
    free = client.post("/schedule/irs", json=body).json()["active"]
    assert 0 < len(free) < 8
    left_out = next(k for k in range(8) if k not in free and servable(client, body, k))
    priorities = [1.0] * 8
    priorities[left_out] = 100.0
    answer = client.post("/schedule/irs", json=body | {"priorities": priorities, "bound": True})
    found = answer.json()
    assert left_out in found["active"]
    assert found["upper_bound"] >= sum(priorities[k] for k in found["active"])


def test_a_required_device_without_a_channel_needs_no_tolerance_that_exists(client):
    silent = CHANNELS.copy()
    silent[:, 6] = 0
    for media_type in ("application/json", "application/msgpack"):
        body = REQUEST | {"channels": nested(silent), "required": [6]}
        answer = client.post("/schedule", json=body, headers={"Accept": media_type})
        found = answer.json() if media_type.endswith("json") else msgpack.unpackb(answer.content)
        assert found["required_missing"] == [6]
        assert found["required_gamma"] is None


def test_required_and_previous_devices_on_the_frontier(client):
    body = {"channels": nested(CHANNELS), "device_ids": IDS}
    required = {"required": ["device-2", "device-5"]}
    points = client.post("/schedule/frontier", json=body | required).json()["points"]
    assert len(points) > 2
    assert all({2, 5} <= set(point["active"]) for point in points)
    tight = {"max_error": points[0]["computation_error"] * 0.9}
    assert client.post("/schedule/frontier", json=body | required | tight).json()["points"] == []
    sticky = client.post("/schedule/frontier", json=body | {"previous": [0, 1, 7]}).json()["points"]
    free = client.post("/schedule/frontier", json=body).json()["points"]
    assert len(sticky) >= len(free)
