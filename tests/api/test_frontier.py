"""``POST /schedule/frontier``, and priorities on every route that takes them."""

import msgpack
import numpy as np
import pytest

from app.api.responses import FrontierAnswer
from app.scheduling import Problem, solve
from lab.channels import iid_channels
from tests.api.bodies import nested, packed, unpacked

RNG = np.random.default_rng(140)
CHANNELS = iid_channels(RNG, 4, 9)
WEIGHTS = RNG.uniform(0.5, 1.5, 9)
PRIORITIES = (10 ** RNG.uniform(-1, 1, 9)).tolist()
ROUND = {"channels": nested(CHANNELS), "weights": WEIGHTS.tolist()}


def post(client, body, path="/schedule/frontier"):
    response = client.post(path, json=body)
    assert response.status_code == 200, response.text
    return response.json()


def refused(client, body, path="/schedule/frontier"):
    response = client.post(path, json=body)
    assert response.status_code == 422, response.text
    (error,) = response.json()["errors"]
    return error


def test_every_point_is_a_schedule_at_its_own_tolerance(client):
    ids = [f"device {index}" for index in range(9)]
    asked = {**ROUND, "power": 2.0, "noise_variance": 0.5, "device_ids": ids, "seed": 4}
    answer = post(client, asked)
    FrontierAnswer.model_validate(answer)
    assert answer["stopped"] == "converged"
    assert answer["device_ids"] == ids
    assert [len(point["active"]) for point in answer["points"]] == list(range(1, 10))
    for point in answer["points"]:
        active, receiver = point["active"], unpacked(point["receiver"])
        # E = σ²/P max φ²/|hᴴc|² over the active, γ = PE/σ², and nobody else is served for that.
        gains = np.abs(receiver.conj() @ CHANNELS) ** 2 / WEIGHTS**2
        assert point["computation_error"] == pytest.approx(0.25 / gains[active].min())
        assert point["gamma"] == pytest.approx(4 * point["computation_error"])
        assert sorted(np.argsort(-gains)[: len(active)].tolist()) == active
        assert point["active_ids"] is None
        assert point["algorithm"] == {"name": "dual_pursuit", "starts": 5}
    errors = [point["computation_error"] for point in answer["points"]]
    assert errors == sorted(errors)


def test_every_encoding_gives_the_same(client):
    expected = post(client, {"channels": packed(CHANNELS)})
    assert post(client, {"channels": nested(CHANNELS)}) == expected
    media_type = "application/msgpack"
    headers = {"Content-Type": media_type, "Accept": media_type}
    content = msgpack.packb({"channels": packed(CHANNELS, raw=True)})
    response = client.post("/schedule/frontier", content=content, headers=headers)
    answer = msgpack.unpackb(response.content)
    for one, other in zip(answer["points"], expected["points"], strict=True):
        assert one["active"] == other["active"]
        assert unpacked(one["receiver"]).tolist() == unpacked(other["receiver"]).tolist()


def test_the_recommended_point_harms_learning_least(client):
    """The least E/(2Φ_S²) + ρ(Φ/Φ_S − 1)/K, computed here from the points."""
    asked = {**ROUND, "power": 2.0, "noise_variance": 2e3}
    taken = []
    for given, participation in (({}, 30.0), *(({"participation": r}, r) for r in (0.0, 1.0, 1e3))):
        answer = post(client, {**asked, **given})
        sums = np.array([WEIGHTS[point["active"]].sum() for point in answer["points"]])
        errors = np.array([point["computation_error"] for point in answer["points"]])
        harm = errors / (2 * sums**2) + participation * (WEIGHTS.sum() / sums - 1) / 9
        assert answer["recommended"] == np.argmin(harm)
        taken.append(answer["recommended"])
    assert len(set(taken)) > 1
    nothing = post(client, {"channels": nested(np.zeros((2, 3)))})
    assert nothing["recommended"] is None


def test_the_cuts(client):
    everything = post(client, ROUND)["points"]
    limit = everything[6]["computation_error"] * 1.0001
    cut = post(client, {**ROUND, "min_devices": 3, "max_error": limit})["points"]
    assert [len(point["active"]) for point in cut] == [3, 4, 5, 6, 7]
    assert post(client, {**ROUND, "min_devices": 10})["points"] == []
    assert post(client, {"channels": nested(np.zeros((2, 3)))})["points"] == []


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"gamma": 1.0}, "gamma"),
        ({"gamma_db": 1.0}, "gamma_db"),
        ({"polish": True}, "polish"),
        ({"algorithm": "matching_pursuit"}, "algorithm"),
        ({"algorithm": {"name": "dual_pursuit", "starts": 0}}, "algorithm"),
        ({"min_devices": 0}, "min_devices"),
        ({"max_error": 0.0}, "max_error"),
        ({"max_error": 1e300}, "max_error"),
        ({"participation": -1.0}, "participation"),
        ({"participation": 1e10}, "participation"),
        ({"warm_start": nested([1, 1])}, "warm_start"),
        ({"priorities": [1.0] * 8}, "priorities"),
        ({"priorities": [1.0] * 8 + [0.0]}, "priorities"),
        ({"priorities": [1.0] * 8 + [1e7]}, "priorities"),
        # 100 points of 656 devices each are more than a batch may have.
        ({"channels": nested(np.zeros((1, 656)))}, "channels"),
    ],
)
def test_what_is_refused(client, changed, field):
    assert refused(client, {"channels": nested(CHANNELS), **changed})["loc"][0] == field


def test_a_deadline_gives_the_points_found_so_far(client):
    channels = iid_channels(RNG, 8, 60)
    algorithm = {"name": "dual_pursuit", "starts": 10_000}
    body = {"channels": packed(channels), "algorithm": algorithm, "deadline_ms": 1000}
    answer = post(client, body)
    assert answer["stopped"] == "deadline"
    assert {point["stopped"] for point in answer["points"]} == {"deadline"}
    sizes = [len(point["active"]) for point in answer["points"]]
    assert sizes
    assert sizes == sorted(set(sizes))


@pytest.mark.parametrize("algorithm", ["dual_pursuit", "matching_pursuit", "optimal", "dc", "sdr"])
def test_priorities_reach_the_algorithm(client, algorithm):
    body = {**ROUND, "gamma": 1.0, "algorithm": algorithm, "priorities": PRIORITIES}
    problem = Problem(CHANNELS, WEIGHTS, 1.0, priorities=np.array(PRIORITIES))
    expected = solve(problem, algorithm).active.tolist()
    assert post(client, body, "/schedule")["active"] == expected
    many = {**body, "channels": nested([CHANNELS, CHANNELS])}
    for schedule in post(client, many, "/schedule/batch")["schedules"]:
        assert schedule["active"] == expected


def test_a_bound_is_a_sum_of_priorities(client):
    body = {**ROUND, "gamma": 1.0, "algorithm": "optimal", "priorities": PRIORITIES}
    best = post(client, body, "/schedule")
    value = sum(PRIORITIES[index] for index in best["active"])
    assert best["upper_bound"] == pytest.approx(value)
    assert best["optimal"]
    other = {**body, "algorithm": "matching_pursuit", "bound": True, "bound_ms": 5000}
    assert post(client, other, "/schedule")["upper_bound"] == pytest.approx(value)
    assert refused(client, {**ROUND, "bound": True})["loc"] == ["bound"]


def test_priorities_reach_the_frontier(client):
    points = post(client, {**ROUND, "priorities": PRIORITIES})["points"]
    values = [sum(PRIORITIES[index] for index in point["active"]) for point in points]
    assert values == sorted(set(values))
    assert points != post(client, ROUND)["points"]


SURFACE = {
    "direct": nested(CHANNELS),
    "irs_to_server": nested(np.ones((4, 2))),
    "devices_to_irs": nested(np.ones((2, 9))),
}


def test_algorithms_say_who_takes_priorities(client):
    listed = client.get("/algorithms").json()["algorithms"]
    for algorithm in listed:
        if algorithm["endpoints"] == ["/schedule/wideband"]:
            assert algorithm["takes_priorities"]
            continue
        path = algorithm["endpoints"][0]
        fields = {"gamma": 1.0, "algorithm": algorithm["name"], "priorities": PRIORITIES}
        body = {**(SURFACE if path == "/schedule/irs" else ROUND), **fields}
        if algorithm["takes_priorities"]:
            post(client, body, path)
        else:
            assert refused(client, body, path)["loc"] == ["priorities"]
    (frontier,) = [one for one in listed if "/schedule/frontier" in one["endpoints"]]
    assert frontier["name"] == "dual_pursuit"
