"""The committed OpenAPI file is what the service says of itself."""

import base64
import json
import re
from pathlib import Path

import httpx
import numpy as np
import pytest

from app.api.error_responses import ProblemDetail
from app.api.errors import Cause
from app.export_openapi import render
from app.settings import Settings
from tests.api.bodies import nested, unpacked
from tests.conftest import running_service

COMMITTED = Path(__file__).parents[2] / "openapi" / "openapi.json"
DOCUMENT = json.loads(COMMITTED.read_text(encoding="utf-8"))
SCHEDULING = [path for path in DOCUMENT["paths"] if path.startswith("/schedule")]


def test_committed_file_is_up_to_date():
    assert COMMITTED.read_text(encoding="utf-8") == render(), "run `make openapi`"


def test_served_document_is_the_committed_one(client):
    assert client.get("/openapi.json").json() == DOCUMENT


def references(value):
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"].removeprefix("#/components/schemas/")
        for item in value.values():
            yield from references(item)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)


def test_every_component_is_defined_and_used():
    assert set(references(DOCUMENT)) == set(DOCUMENT["components"]["schemas"])


def test_the_document_says_whose_it_is_and_where():
    assert DOCUMENT["servers"][0]["url"] == "/"
    assert DOCUMENT["info"]["contact"]["name"]
    declared = {tag["name"] for tag in DOCUMENT["tags"]}
    used = [operation["tags"] for _, operation in operations()]
    assert {name for tags in used for name in tags} == declared
    assert all(used)


def operations():
    for path, methods in DOCUMENT["paths"].items():
        for operation in methods.values():
            yield path, operation


def test_the_bearer_scheme_is_declared_where_a_key_is_taken():
    (name,) = DOCUMENT["components"]["securitySchemes"]
    assert DOCUMENT["components"]["securitySchemes"][name]["scheme"] == "bearer"
    with running_service(Settings(api_keys="secret")) as url:
        for path, operation in operations():
            method = "POST" if path.startswith("/schedule") else "GET"
            takes_key = httpx.request(method, url + path).status_code == 401
            # An open service takes requests without a key.
            assert operation.get("security", []) == ([{name: []}, {}] if takes_key else []), path
            assert ("401" in operation["responses"]) == takes_key


def test_every_error_of_the_contract_is_documented():
    for path in SCHEDULING:
        post = DOCUMENT["paths"][path]["post"]
        assert {"200", "400", "401", "413", "415", "422", "503", "504"} <= set(post["responses"])
        assert set(post["requestBody"]["content"]) == {"application/json", "application/msgpack"}


def test_every_error_of_a_route_is_documented_with_its_status():
    for path, operation in operations():
        documented = {
            (int(status), slug)
            for status, answer in operation["responses"].items()
            for slug in re.findall("urn:airsched:problem:([a-z-]+)", answer["description"])
        }
        route = ROUTES.get(path, "schedule" if path in SCHEDULING else "")
        expected = {
            (cause.value.status, cause.slug) for cause in Cause if route in cause.value.routes
        }
        assert documented == expected, path
    refused = DOCUMENT["paths"]["/schedule"]["post"]["responses"]["503"]
    assert "Retry-After" in refused["headers"]
    assert "(retryable)" in refused["description"]


ROUTES = {"/algorithms": "algorithms", "/health/ready": "ready"}
EXAMPLES = [
    (path, name)
    for path in SCHEDULING
    for name in DOCUMENT["paths"][path]["post"]["requestBody"]["content"]["application/json"].get(
        "examples", ["none"]
    )
]


@pytest.mark.parametrize(("path", "name"), EXAMPLES)
def test_every_example_works_when_posted(client, path, name):
    content = DOCUMENT["paths"][path]["post"]["requestBody"]["content"]
    body = content["application/json"]["examples"][name]["value"]
    response = client.post(path, json=body)
    assert response.status_code == 200, response.text
    answer = response.json()
    if path == "/schedule/batch":
        channels, answers = array(body["channels"]), answer["schedules"]
        assert len(channels) == len(answers)
    elif path == "/schedule/irs":
        phases = unpacked(answer["phases"])
        np.testing.assert_allclose(np.abs(phases), 1)
        direct, reflected = array(body["direct"]), array(body["irs_to_server"]) * phases
        channels, answers = [direct + reflected @ array(body["devices_to_irs"])], [answer]
    elif path == "/schedule/frontier":
        answers = [point for point in answer["points"] if len(point["active"]) > 1]
        channels = [array(body["channels"])] * len(answers)
        assert answers
    elif path == "/schedule/wideband":
        # Its criterion is each: every subcarrier is a schedule within the tolerance.
        channels, receivers = array(body["channels"]), unpacked(answer["receivers"])
        each = zip(receivers, answer["power_factors"], answer["computation_errors"], strict=True)
        answers = [
            answer | {"receiver": nested(c), "power_factor": factor, "computation_error": error}
            for c, factor, error in each
        ]
    else:
        channels, answers = [array(body["channels"])], [answer]
    for matrix, schedule in zip(channels, answers, strict=True):
        verify(body, matrix, schedule)


def array(value):
    if "data" in value:
        raw = base64.b64decode(value["data"])
        return np.frombuffer(raw, {"complex64": "<c8"}[value["dtype"]]).reshape(value["shape"])
    return unpacked(value)


def verify(body, channels, schedule):
    """Hold a schedule against the problem's definition: φ² ≤ γ |hᴴc|², E = σ²/η ≤ ε."""
    weights = np.array(body.get("weights", np.ones(channels.shape[1])))
    power = body.get("power", 1.0)
    # A point of a frontier has its own tolerance.
    gamma = 10 ** (body["gamma_db"] / 10) if "gamma_db" in body else schedule["gamma"]
    if "max_error" in body:
        gamma = power * body["max_error"]
    active, receiver = schedule["active"], unpacked(schedule["receiver"])
    assert schedule["feasible"]
    assert len(active) >= 2, "an example should show devices that share a round"
    assert np.linalg.norm(receiver) == pytest.approx(1)
    gains = np.abs(channels.conj().T @ receiver)[active]
    assert (weights[active] ** 2 <= gamma * gains**2 * (1 + 1e-9)).all()
    factor = power * min(gains**2 / weights[active] ** 2)
    assert schedule["power_factor"] == pytest.approx(factor)
    assert schedule["computation_error"] == pytest.approx(1 / factor)
    if "device_ids" in body:
        assert schedule["active_ids"] == [body["device_ids"][k] for k in active]


@pytest.mark.parametrize(
    "path", ["/schedule", "/schedule/irs", "/schedule/batch", "/schedule/wideband"]
)
def test_example_answers_are_what_the_service_answers(client, path):
    described = DOCUMENT["paths"][path]["post"]
    asked = next(iter(described["requestBody"]["content"]["application/json"]["examples"].values()))
    shown = described["responses"]["200"]["content"]["application/json"]["example"]
    found = client.post(path, json=asked["value"]).json()
    assert found.keys() == shown.keys()
    for one, other in zip(
        found.get("schedules", [found]), shown.get("schedules", [shown]), strict=True
    ):
        assert one.keys() == other.keys()
        for name in ("feasible", "active", "active_ids", "algorithm", "stopped"):
            assert one[name] == other[name], name
        for name in one.keys() & {"power_factor", "power_factors", "computation_error", "gamma"}:
            assert one[name] == pytest.approx(other[name], rel=1e-4), name


def test_the_example_of_a_frontier_is_what_the_service_answers(client):
    described = DOCUMENT["paths"]["/schedule/frontier"]["post"]
    asked = next(iter(described["requestBody"]["content"]["application/json"]["examples"].values()))
    shown = described["responses"]["200"]["content"]["application/json"]["example"]
    found = client.post("/schedule/frontier", json=asked["value"]).json()
    assert found["recommended"] == shown["recommended"]
    for one, other in zip(found["points"], shown["points"], strict=True):
        assert one.keys() == other.keys()
        assert one["active"] == other["active"]
        assert one["computation_error"] == pytest.approx(other["computation_error"], rel=1e-3)


def test_every_cause_has_an_example_with_its_own_words(client):
    responses = DOCUMENT["paths"]["/schedule"]["post"]["responses"]
    shown = {}
    for status, response in responses.items():
        if status == "200":
            continue
        for name, example in response["content"]["application/problem+json"]["examples"].items():
            value = ProblemDetail.model_validate(example["value"])
            assert value.status == int(status)
            assert value.type == f"urn:airsched:problem:{name}"
            assert "{" not in value.detail
            shown[name] = example["value"]
    assert shown.keys() == {cause.slug for cause in Cause if "schedule" in cause.value.routes}
    wrong = {
        "channels": {"real": [[1.0, 0.2, 0.1]], "imag": [[0.0] * 3]},
        "weights": [1.0, 1.0],
        "gamma": 1.0,
    }
    assert client.post("/schedule", json=wrong).json() == shown["invalid-request"]
