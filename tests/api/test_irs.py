"""The contract of POST /schedule/irs, over HTTP."""

import json

import httpx
import msgpack
import numpy as np
import pytest

from app.api.responses import IrsScheduleAnswer
from app.scheduling import IRS_SCHEDULERS, IrsProblem, solve
from app.scheduling.irs.schedulers.matching_pursuit import IrsMatchingPursuitParameters
from app.settings import Settings
from lab.channels import iid_channels
from tests.api.bodies import nested, packed, unpacked
from tests.api.test_errors import assert_problem
from tests.conftest import running_service

RNG = np.random.default_rng(120)
DIRECT = iid_channels(RNG, 4, 8)
TO_SERVER = iid_channels(RNG, 4, 6)
TO_SURFACE = iid_channels(RNG, 6, 8) / 2
ASK = {
    "direct": nested(DIRECT),
    "irs_to_server": nested(TO_SERVER),
    "devices_to_irs": nested(TO_SURFACE),
    "gamma_db": -3.0,
}
MSGPACK = {"Content-Type": "application/msgpack", "Accept": "application/msgpack"}


def post(client, body):
    response = client.post("/schedule/irs", json=body)
    assert response.status_code == 200, response.text
    return response.json()


def test_answer_is_the_cores_schedule(client):
    weights = np.linspace(0.5, 1.5, 8)
    start = np.exp(1j * np.arange(6))
    body = {
        "direct": nested(DIRECT),
        "irs_to_server": nested(TO_SERVER),
        "devices_to_irs": nested(TO_SURFACE),
        "weights": weights.tolist(),
        "max_error": 0.05,
        "power": 4.0,
        "noise_variance": 0.25,
        "device_ids": [f"phone-{k}" for k in range(8)],
        "algorithm": {"name": "matching_pursuit", "delta": 0.4, "phase_update": "bcd"},
        "csi_error": 0.01,
        "coordination": "mmse",
        "polish": True,
        "phase_bits": 3,
        "initial_phases": nested(start),
        "seed": 3,
    }
    answer = post(client, body)
    IrsScheduleAnswer.model_validate(answer)
    problem = IrsProblem(
        DIRECT,
        TO_SERVER,
        TO_SURFACE,
        weights,
        4.0 * 0.05 / 0.25,
        4.0,
        0.25,
        csi_error=0.01,
        phase_bits=3,
        initial_phases=start,
    )
    parameters = IrsMatchingPursuitParameters(0.4, "bcd")
    expected = solve(
        problem, "matching_pursuit", parameters, seed=3, coordination="mmse", polish=True
    )
    assert answer["feasible"] is True
    assert answer["active"] == expected.active.tolist()
    assert answer["active_ids"] == [f"phone-{k}" for k in expected.active]
    for name in ("receiver", "transmit_scalars", "phases"):
        np.testing.assert_array_equal(unpacked(answer[name]), getattr(expected, name))
    for name in ("power_factor", "computation_error", "iterations", "stopped"):
        assert answer[name] == getattr(expected, name)
    assert answer["gamma"] == problem.gamma
    assert answer["algorithm"] == body["algorithm"]


def test_the_answer_refers_to_the_tuned_channel(client):
    answer = post(client, ASK)
    phases, receiver = unpacked(answer["phases"]), unpacked(answer["receiver"])
    np.testing.assert_allclose(np.abs(phases), 1, rtol=0, atol=1e-12)
    channels = DIRECT + TO_SERVER @ np.diag(phases) @ TO_SURFACE
    gains = np.abs(receiver.conj() @ channels)[answer["active"]] ** 2
    assert (gains * answer["gamma"] >= 1 - 1e-8).all()
    assert answer["power_factor"] == pytest.approx(gains.min())


def test_defaults(client):
    answer = post(client, ASK)
    expected = {"name": "matching_pursuit", "delta": 0.55, "phase_update": "mm"}
    assert answer["algorithm"] == expected
    nulls = dict.fromkeys(["weights", "phase_bits", "initial_phases", "warm_start", "deadline_ms"])
    assert post(client, {**ASK, **nulls, "initial_phases": nested(np.ones(6))}) == answer


@pytest.mark.parametrize("name", IRS_SCHEDULERS)
def test_every_algorithm_is_served(client, name):
    body = {**ASK, "algorithm": name, "warm_start": nested(np.ones(4)), "phase_bits": 2}
    answer = post(client, body)
    IrsScheduleAnswer.model_validate(answer)
    assert answer["algorithm"]["name"] == name
    assert post(client, body) == answer
    assert answer["active"]


def test_every_encoding_gives_the_same_schedule(client):
    as_json = post(client, ASK)
    matrices = {"direct": DIRECT, "irs_to_server": TO_SERVER, "devices_to_irs": TO_SURFACE}
    assert post(client, ASK | {name: packed(value) for name, value in matrices.items()}) == as_json
    raw = ASK | {name: packed(value, raw=True) for name, value in matrices.items()}
    response = client.post("/schedule/irs", content=msgpack.packb(raw), headers=MSGPACK)
    answer = msgpack.unpackb(response.content)
    IrsScheduleAnswer.model_validate(answer)
    for name in ("receiver", "transmit_scalars", "phases"):
        answer[name] = nested(unpacked(answer[name]))
    assert answer == as_json
    assert "solve;dur=" in response.headers["server-timing"]


@pytest.mark.parametrize("name", ["matching_pursuit", "dual_pursuit", "dc"])
def test_a_surface_without_gain_gives_exactly_the_answer_of_schedule(client, name):
    common = {"gamma_db": 1.0, "algorithm": name, "polish": True}
    silent = {**ASK, "devices_to_irs": nested(np.zeros((6, 8))), **common}
    answer = post(client, silent)
    plain = client.post("/schedule", json={"channels": nested(DIRECT), **common}).json()
    assert unpacked(answer.pop("phases")).tolist() == [1] * 6
    assert answer.keys() == plain.keys()
    for key in answer.keys() - {"algorithm", "iterations"}:
        assert answer[key] == plain[key]


def test_nobody_can_be_served(client):
    answer = post(client, {**ASK, "gamma_db": -100})
    assert answer["feasible"] is False
    assert answer["receiver"] is answer["power_factor"] is None
    assert unpacked(answer["phases"]).shape == (6,)


def change(**fields):
    return {**ASK, **fields}


INVALID = {
    "direct missing": ({k: v for k, v in ASK.items() if k != "direct"}, "direct"),
    "irs_to_server missing": (
        {k: v for k, v in ASK.items() if k != "irs_to_server"},
        "irs_to_server",
    ),
    "devices_to_irs missing": (
        {k: v for k, v in ASK.items() if k != "devices_to_irs"},
        "devices_to_irs",
    ),
    "channels": (change(channels=nested(DIRECT)), "channels"),
    "direct NaN": (change(direct=packed(np.full((4, 8), np.nan))), "direct"),
    "direct empty": (change(direct=nested(np.ones((0, 8)))), "direct"),
    "direct of another N": (change(direct=nested(np.ones((3, 8)))), "irs_to_server: must be 3"),
    "direct of another K": (change(direct=nested(np.ones((4, 7)))), "devices_to_irs: must be 6"),
    "direct a vector": (change(direct=nested(np.ones(4))), "direct.real.0"),
    "irs_to_server of another M": (
        change(irs_to_server=nested(np.ones((4, 5)))),
        "devices_to_irs: must be 5 elements × 8 devices",
    ),
    "irs_to_server infinite": (
        change(irs_to_server=packed(np.full((4, 6), np.inf))),
        "irs_to_server",
    ),
    "irs_to_server ragged": (
        change(irs_to_server={"real": [[1, 2], [3]], "imag": [[1, 2], [3]]}),
        "irs_to_server",
    ),
    "irs_to_server too large": (change(irs_to_server=nested(np.full((4, 6), 1e31))), "irs_to_"),
    "devices_to_irs transposed": (
        change(devices_to_irs=nested(TO_SURFACE.T)),
        "devices_to_irs: must be 6 elements × 8 devices",
    ),
    "devices_to_irs NaN": (change(devices_to_irs=packed(np.full((6, 8), np.nan))), "devices_to_"),
    "devices_to_irs a string": (change(devices_to_irs="G"), "devices_to_irs"),
    "reflection overflows": (
        change(
            irs_to_server=nested(np.full((4, 6), 1e20)),
            devices_to_irs=nested(np.full((6, 8), 1e20)),
        ),
        "devices_to_irs",
    ),
    "too many elements": (
        change(irs_to_server=packed(np.ones((4, 1025))), devices_to_irs=packed(np.ones((1025, 8)))),
        "irs_to_server: 1025 elements are over this server's limit of 1024",
    ),
    "too many devices": (change(direct=packed(np.ones((1, 4097)))), "direct"),
    "too many antennas": (change(direct=packed(np.ones((257, 1)))), "direct"),
    "dc with too many elements": (
        change(
            irs_to_server=packed(np.ones((4, 129))),
            devices_to_irs=packed(np.ones((129, 8))),
            algorithm="dc",
        ),
        "algorithm: dc takes at most 128 elements",
    ),
    "weights wrong K": (change(weights=[1, 2]), "weights"),
    "zero weight": (change(weights=[0] * 8), "weights"),
    "no gamma": ({k: v for k, v in ASK.items() if k != "gamma_db"}, "gamma"),
    "both gammas": (change(gamma=1), "gamma"),
    "gamma too small": (change(gamma_db=None, max_error=1e-40), "max_error"),
    "power 0": (change(power=0), "power"),
    "device_ids repeated": (change(device_ids=["a"] * 8), "device_ids"),
    "csi_error negative": (change(csi_error=-1), "csi_error"),
    "coordination not a choice": (change(coordination="best"), "coordination"),
    "polish not a boolean": (change(polish=1), "polish"),
    "warm_start of another N": (change(warm_start=nested(np.ones(8))), "warm_start"),
    "deadline 0": (change(deadline_ms=0), "deadline_ms"),
    "seed negative": (change(seed=-1), "seed"),
    "unknown field": (change(phases=1), "phases"),
    "algorithm of the other endpoint": (
        change(algorithm="exhaustive"),
        "'exhaustive' is not one of dc, dual_pursuit, matching_pursuit, no_irs, random_phases",
    ),
    "parameter of the other endpoint": (
        change(algorithm={"name": "matching_pursuit", "search": "forward"}),
        "algorithm.search",
    ),
    "phase_update not a choice": (
        change(algorithm={"name": "matching_pursuit", "phase_update": "sgd"}),
        "algorithm.phase_update",
    ),
    "starts too few": (change(algorithm={"name": "dual_pursuit", "starts": 1}), "algorithm.starts"),
    "phase_bits 0": (change(phase_bits=0), "phase_bits"),
    "phase_bits 17": (change(phase_bits=17), "phase_bits"),
    "phase_bits a fraction": (change(phase_bits=1.5), "phase_bits"),
    "phase_bits a boolean": (change(phase_bits=True), "phase_bits"),
    "initial_phases of another M": (
        change(initial_phases=nested(np.ones(5))),
        "initial_phases: must be 6 phases",
    ),
    "initial_phases off the circle": (
        change(initial_phases=nested(np.full(6, 0.9))),
        "initial_phases: must have a modulus of 1",
    ),
    "initial_phases zero": (change(initial_phases=nested(np.zeros(6))), "initial_phases"),
    "initial_phases NaN": (change(initial_phases=packed(np.full(6, np.nan))), "initial_phases"),
    "initial_phases a matrix": (change(initial_phases=nested(np.ones((6, 1)))), "initial_phases"),
    "not an object": ([1], "body"),
}


@pytest.mark.parametrize("name", INVALID)
@pytest.mark.parametrize("media_type", ["application/json", "application/msgpack"])
def test_invalid_is_422_and_names_the_field(client, name, media_type):
    body, names = INVALID[name]
    content = json.dumps(body) if media_type == "application/json" else msgpack.packb(body)
    response = client.post("/schedule/irs", content=content, headers={"Content-Type": media_type})
    assert_problem(response, 422, names)


def test_malformed_and_unsupported_bodies(client):
    headers = {"Content-Type": "application/json"}
    assert_problem(client.post("/schedule/irs", content=b"{", headers=headers), 400)
    assert_problem(client.post("/schedule/irs", content=b"{}"), 415)
    assert_problem(client.get("/schedule/irs"), 405)


def test_limits_and_keys_are_those_of_the_settings():
    with running_service(Settings(max_elements=5, api_keys="secret")) as url:
        assert_problem(httpx.post(f"{url}/schedule/irs", json=ASK), 401)
        headers = {"Authorization": "Bearer secret"}
        response = httpx.post(f"{url}/schedule/irs", json=ASK, headers=headers)
        assert_problem(response, 422, "6 elements are over this server's limit of 5")


def test_a_missed_deadline_is_504_and_an_anytime_answer_says_so(client):
    rng = np.random.default_rng(121)
    body = {
        "direct": packed(iid_channels(rng, 16, 300)),
        "irs_to_server": packed(iid_channels(rng, 16, 200)),
        "devices_to_irs": packed(iid_channels(rng, 200, 300) / 20),
        "gamma_db": -12,
    }
    assert_problem(client.post("/schedule/irs", json={**body, "deadline_ms": 1e-3}), 504)
    many = {"name": "dual_pursuit", "starts": 1000}
    anytime = {**ASK, "gamma_db": -9, "algorithm": many, "deadline_ms": 400}
    answer = post(client, anytime)
    IrsScheduleAnswer.model_validate(answer)
    assert answer["stopped"] == "deadline"
    assert answer["active"]


def test_algorithms_say_which_endpoint_takes_them(client):
    listed = client.get("/algorithms").json()["algorithms"]
    found = {info["name"]: info for info in listed if info["endpoints"] == ["/schedule/irs"]}
    assert set(found) == set(IRS_SCHEDULERS)
    delta, phase_update = found["matching_pursuit"]["parameters"]
    assert delta["name"] == "delta"
    assert phase_update["json_schema"]["enum"] == ["mm", "bcd"]
    assert phase_update["default"] == "mm"
    assert "Algorithm 2" in found["matching_pursuit"]["reference"]
