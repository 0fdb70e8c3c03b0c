"""``POST /schedule/batch``: many rounds at once, each as if it had been asked alone."""

import msgpack
import numpy as np
import pytest

from app.api.responses import BatchAnswer
from lab.channels import iid_channels
from tests.api.bodies import nested, packed

RNG = np.random.default_rng(130)
CHANNELS = np.stack([iid_channels(RNG, 4, 9) for _ in range(7)])
SHARED = {
    "weights": RNG.uniform(0.5, 1.5, 9).tolist(),
    "gamma_db": 1.0,
    "power": 2.0,
    "noise_variance": 0.5,
    "csi_error": 0.05,
    "device_ids": [f"device {index}" for index in range(9)],
    "seed": 4,
}


def post(client, body, path="/schedule/batch"):
    response = client.post(path, json=body)
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"algorithm": "dual_pursuit"},
        {"algorithm": {"name": "dc", "max_iterations": 5}},
        {"algorithm": "random"},
        {"polish": True, "coordination": "mmse"},
        {"warm_start": nested([1, 1j, 0, 0])},
    ],
)
def test_each_schedule_is_the_one_that_schedule_gives(client, asked):
    answer = post(client, {"channels": nested(CHANNELS), **SHARED, **asked})
    BatchAnswer.model_validate(answer)
    expected = [
        post(client, {"channels": nested(channels), **SHARED, **asked}, "/schedule")
        for channels in CHANNELS
    ]
    # Names are returned once, however many rounds there are.
    for schedule in expected:
        names = [SHARED["device_ids"][k] for k in schedule["active"]]
        assert schedule.pop("active_ids") == names
    assert {schedule.pop("active_ids") for schedule in answer["schedules"]} == {None}
    assert answer == {"device_ids": SHARED["device_ids"], "schedules": expected}


def test_every_encoding_gives_the_same(client):
    expected = post(client, {"channels": nested(CHANNELS), "gamma": 1})
    assert post(client, {"channels": packed(CHANNELS), "gamma": 1}) == expected
    content = msgpack.packb({"channels": packed(CHANNELS, raw=True), "gamma": 1})
    media_type = "application/msgpack"
    headers = {"Content-Type": media_type, "Accept": media_type}
    response = client.post("/schedule/batch", content=content, headers=headers)
    answer = msgpack.unpackb(response.content)
    assert [one["active"] for one in answer["schedules"]] == [
        one["active"] for one in expected["schedules"]
    ]


def refused(client, body):
    response = client.post("/schedule/batch", json=body)
    assert response.status_code == 422
    return response.json()["errors"]


def test_a_bad_element_is_named_by_its_index(client):
    huge = CHANNELS.copy()
    huge[5, 1, 2] = 1e200
    (error,) = refused(client, {"channels": nested(huge), "gamma": 1})
    assert error["loc"] == ["channels", 5]
    ragged = nested(CHANNELS)
    ragged["real"][3][2][1] = "a word"
    (error,) = refused(client, {"channels": ragged, "gamma": 1})
    assert error["loc"] == ["channels", "real", 3, 2, 1]
    not_finite = packed(np.where(np.arange(7)[:, None, None] == 2, np.nan, CHANNELS))
    (error,) = refused(client, {"channels": not_finite, "gamma": 1})
    assert error["loc"] == ["channels", 2]


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"channels": packed(CHANNELS[0])}, "channels"),
        ({"channels": packed(CHANNELS[:0])}, "channels"),
        ({"channels": nested(np.zeros((257, 1, 1)))}, "channels"),
        ({"weights": [1.0] * 8}, "weights"),
        ({"weights": [1.0] * 8 + [-1.0]}, "weights"),
        ({"gamma": None}, "gamma"),
        ({"warm_start": nested([1, 1])}, "warm_start"),
        ({"device_ids": ["one"]}, "device_ids"),
        ({"algorithm": "random_phases"}, "algorithm"),
    ],
)
def test_what_is_shared_is_named_once(client, changed, field):
    body = {"channels": nested(CHANNELS), "gamma": 1, **changed}
    (error,) = refused(client, body)
    assert error["loc"][0] == field
    assert not any(isinstance(part, int) for part in error["loc"])


def test_rows_of_unequal_length_are_refused(client):
    ragged = nested(CHANNELS)
    for part in ragged.values():
        part[3][1].pop()
    (error,) = refused(client, {"channels": ragged, "gamma": 1})
    assert "equally long" in error["msg"]


def test_sdr_with_too_many_devices(client):
    body = {"channels": nested(np.ones((2, 2, 513))), "gamma": 1, "algorithm": "sdr"}
    (error,) = refused(client, body)
    assert error["loc"] == ["algorithm"]
