"""Every error: its documented status, as a problem that names the field. Never a 5xx for input."""

import asyncio
import json
import socket

import httpx
import msgpack
import numpy as np
import pytest

from app.api.error_responses import ProblemDetail
from app.main import create_app
from app.settings import Settings
from lab.channels import iid_channels
from tests.api.bodies import nested, packed
from tests.conftest import running_service

H = {"real": [[1, 0.5], [0.2, 1]], "imag": [[0, 0.1], [0, 0]]}
GOOD = {"channels": H, "gamma": 1}


def assert_problem(response, status, names=""):
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    problem = ProblemDetail.model_validate_json(response.content)
    assert problem.status == status
    assert names in problem.detail
    assert "Traceback" not in response.text
    assert (problem.errors is not None) == (status == 422)
    for error in problem.errors or []:
        assert error.msg
    return problem


def change(**fields):
    return {**GOOD, **fields}


def channels(real, imag=None):
    return change(channels={"real": real, "imag": real if imag is None else imag})


INVALID = {
    "NaN": (channels([[float("nan"), 1], [1, 1]]), "channels.real.0.0"),
    "Infinity": (channels([[1, 1], [1, float("-inf")]]), "channels.real.1.1"),
    "1e308": (channels([[1e308, 1]]), "channels"),
    "1e400": ('{"channels": {"real": [[1e400]], "imag": [[0]]}, "gamma": 1}', "channels.real.0.0"),
    "huge integer": (channels([[10**400]]), "channels.real.0.0"),
    "no antennas": (channels([]), "channels"),
    "no devices": (channels([[], []]), "channels"),
    "ragged": (channels([[1, 2], [3]]), "channels"),
    "too shallow": (channels([1, 2]), "channels.real.0"),
    "too deep": (channels([[[1]], [[2]]]), "channels.real.0.0"),
    "real and imag disagree": (channels([[1, 2]], [[1]]), "channels"),
    "imag missing": (change(channels={"real": [[1]]}), "channels.imag"),
    "string for a number": (channels([["1", 2]]), "channels.real.0.0"),
    "bool for a number": (channels([[True, 2]]), "channels.real.0.0"),
    "null for a number": (channels([[None, 2]]), "channels.real.0.0"),
    "channels is a list": (change(channels=[[1, 2]]), "channels"),
    "channels missing": ({"gamma": 1}, "channels"),
    "long string": (change(channels="x" * 10**6), "channels"),
    "long string in a list": (channels([["x" * 10**6, 1]]), "channels.real.0.0"),
    "wrong K": (change(weights=[1, 2, 3]), "weights"),
    "zero weight": (change(weights=[1, 0]), "weights"),
    "negative weight": (change(weights=[1, -1]), "weights"),
    "weights of 1e308": (change(weights=[1, 1e308]), "weights"),
    "weights is a number": (change(weights=3), "weights"),
    "gamma 0": (change(gamma=0), "gamma"),
    "gamma -1": (change(gamma=-1), "gamma"),
    "gamma 1e308": (change(gamma=1e308), "gamma"),
    "no gamma": ({"channels": H}, "gamma"),
    "both gammas": (change(gamma_db=0), "gamma_db"),
    "gamma_db 1e308": ({"channels": H, "gamma_db": 1e308}, "gamma_db"),
    "max_error too small": ({"channels": H, "max_error": 1e-300}, "max_error"),
    "max_error -1": ({"channels": H, "max_error": -1}, "max_error"),
    "power 0": (change(power=0), "power"),
    "noise_variance NaN": (change(noise_variance=float("nan")), "noise_variance"),
    "device_ids too few": (change(device_ids=["a"]), "device_ids"),
    "device_ids repeated": (change(device_ids=["a", "a"]), "device_ids"),
    "device_ids numbers": (change(device_ids=[1, 2]), "device_ids.0"),
    "device_ids too long": (change(device_ids=["a", "b" * 10**6]), "device_ids.1"),
    "sdr with too many devices": (
        {"channels": packed(np.ones((1, 513))), "gamma": 1, "algorithm": "sdr"},
        "algorithm: sdr takes at most 512 devices",
    ),
    "average_gains wrong K": (
        change(algorithm={"name": "proportional_fair", "average_gains": [1.0]}),
        "algorithm: average_gains must be 2 numbers",
    ),
    "unknown algorithm": (change(algorithm="guess"), "algorithm"),
    "algorithm without name": (change(algorithm={"delta": 0.5}), "algorithm"),
    "unknown parameter": (
        change(algorithm={"name": "matching_pursuit", "depth": 3}),
        "algorithm.depth",
    ),
    "parameter out of bounds": (
        change(algorithm={"name": "matching_pursuit", "delta": 1}),
        "algorithm.delta",
    ),
    "parameter not a choice": (
        change(algorithm={"name": "matching_pursuit", "search": "up"}),
        "algorithm.search",
    ),
    "parameter of another type": (
        change(algorithm={"name": "matching_pursuit", "delta": "0.5"}),
        "algorithm.delta",
    ),
    "csi_error negative": (change(csi_error=-0.1), "csi_error"),
    "csi_error wrong K": (change(csi_error=[0.1]), "csi_error"),
    "csi_error a string": (change(csi_error="0.1"), "csi_error"),
    "coordination not a choice": (change(coordination="best"), "coordination"),
    "polish not a boolean": (change(polish=1), "polish"),
    "warm_start of another N": (change(warm_start=nested([1, 2, 3])), "warm_start"),
    "warm_start a matrix": (change(warm_start=nested([[1, 2]])), "warm_start.real.0"),
    "warm_start NaN": (change(warm_start=packed([np.nan, 1])), "warm_start"),
    "warm_start imaginary NaN": (
        change(warm_start=packed([1, complex(1, np.nan)])),
        "warm_start",
    ),
    "deadline 0": (change(deadline_ms=0), "deadline_ms"),
    "seed negative": (change(seed=-1), "seed"),
    "seed 2^64": (change(seed=2**64), "seed"),
    "unknown field": (change(chanels=1), "chanels"),
    "not an object": ([1, 2], "body"),
    "null": (None, "body"),
    "packed dtype": (change(channels={**packed([[1]]), "dtype": "float64"}), "channels.dtype"),
    "packed shape": (change(channels={**packed([[1]]), "shape": [2, 2]}), "channels"),
    "packed vector": (change(channels=packed([1, 2])), "channels"),
    "packed empty": (change(channels={**packed([[1]]), "shape": [0, 1], "data": ""}), "channels"),
    "packed base64": (change(channels={**packed([[1]]), "data": "*not base64*"}), "channels"),
    "packed NaN": (change(channels=packed([[np.nan, 1]])), "channels"),
    "packed imaginary NaN": (change(channels=packed([[complex(1, np.nan), 1]])), "channels"),
    "packed imaginary Infinity": (change(channels=packed([[complex(1, -np.inf), 1]])), "channels"),
    "packed shape too large": (
        change(channels={**packed([[1]]), "shape": [10**9, 10**9]}),
        "channels",
    ),
    "too many devices": (change(channels=packed(np.ones((1, 4097)))), "channels"),
    "too many antennas": (channels([[1]] * 257), "channels"),
}


JSON_ONLY = {"1e400", "huge integer", "seed 2^64"}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_json_is_422_and_names_the_field(client, name):
    body, names = INVALID[name]
    content = body if isinstance(body, str) else json.dumps(body)
    response = client.post(
        "/schedule", content=content, headers={"Content-Type": "application/json"}
    )
    assert_problem(response, 422, names)


@pytest.mark.parametrize("name", sorted(set(INVALID) - JSON_ONLY))
def test_invalid_messagepack_is_422_and_names_the_field(client, name):
    body, names = INVALID[name]
    headers = {"Content-Type": "application/msgpack"}
    response = client.post("/schedule", content=msgpack.packb(body), headers=headers)
    assert_problem(response, 422, names)


MALFORMED = {
    "empty": ("application/json", b""),
    "truncated JSON": ("application/json", json.dumps(GOOD).encode()[:-3]),
    "not UTF-8": ("application/json", b'{"channels": "\xff\xfe"}'),
    "deep JSON": ("application/json", b"[" * 100_000),
    "deep JSON in a field": ("application/json", b'{"channels":' + b"[" * 10_000 + b"]" * 10_000),
    "truncated MessagePack": ("application/msgpack", msgpack.packb(GOOD)[:-3]),
    "MessagePack with a tail": ("application/msgpack", msgpack.packb(GOOD) + b"\x00"),
    "empty MessagePack": ("application/msgpack", b""),
    "deep MessagePack": ("application/msgpack", b"\x91" * 100_000),
    "MessagePack of huge announced size": ("application/msgpack", b"\xdd\xff\xff\xff\xff"),
    "MessagePack never-used byte": ("application/msgpack", b"\xc1"),
    "unhashable MessagePack key": ("application/msgpack", b"\x81\x80\x01"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_bodies_are_400(client, name):
    media_type, content = MALFORMED[name]
    response = client.post("/schedule", content=content, headers={"Content-Type": media_type})
    assert_problem(response, 400, "The body is not")


def test_deep_nesting_within_the_parsers_depth_is_422(client):
    deep = "[" * 150 + "]" * 150
    body = f'{{"channels": {{"real": {deep}, "imag": {deep}}}, "gamma": 1}}'
    response = client.post("/schedule", content=body, headers={"Content-Type": "application/json"})
    assert_problem(response, 422, "channels.real")


@pytest.mark.parametrize("media_type", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_other_media_types_are_415(client, media_type):
    response = client.post("/schedule", content=b"{}", headers={"Content-Type": media_type})
    assert_problem(response, 415, "application/json or application/msgpack")


def test_compressed_bodies_are_415(client):
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    assert_problem(client.post("/schedule", content=b"{}", headers=headers), 415, "gzip")


def test_unknown_paths_and_methods(client):
    assert_problem(client.get("/nowhere"), 404, "/nowhere")
    response = client.get("/schedule")
    assert_problem(response, 405, "GET")
    assert response.headers["allow"] == "POST"


def test_many_errors_are_counted_not_listed(client):
    response = client.post("/schedule", json={**GOOD, **{f"x{i}": 0 for i in range(50)}})
    problem = assert_problem(response, 422, "and 40 more")
    assert len(problem.errors) == 10
    assert len(response.content) < 3000


@pytest.mark.parametrize("where", ["body", "algorithm", "channels"])
def test_so_many_names_are_one_error(client, where):
    names = {f"x{i}": 0 for i in range(1000)}
    asked = {**GOOD, **(names if where == "body" else {where: {"name": "dc", **names}})}
    problem = assert_problem(client.post("/schedule", json=asked), 422, "names")
    assert [error.loc for error in problem.errors] == [[where]]


def raw_exchange(url, request: bytes) -> bytes:
    """Send bytes, and read until the server closes."""
    address = httpx.URL(url)
    with socket.create_connection((address.host, address.port), timeout=10) as connection:
        connection.sendall(request)
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
    return answer


def test_body_over_the_limit_is_refused_before_it_is_read():
    with running_service(Settings(max_body_bytes=10_000)) as url:
        head = b"POST /schedule HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        # Announced: not a byte of the body is ever sent.
        answer = raw_exchange(url, head + b"Content-Length: 10001\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 413")
        assert b"10000 bytes" in answer
        # In chunks, without a length and without an end.
        chunk = b"1000\r\n" + b" " * 0x1000 + b"\r\n"
        answer = raw_exchange(url, head + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 3)
        assert answer.startswith(b"HTTP/1.1 413")
        response = httpx.post(f"{url}/schedule", json=GOOD)
        assert response.status_code == 200


def test_keys():
    with running_service(Settings(api_keys="first-key, second-key")) as url:
        for headers in (
            {},
            {"Authorization": "Bearer wrong"},
            {"Authorization": "first-key"},
            {"Authorization": "Basic first-key"},
            {"Authorization": "Bearer"},
        ):
            response = httpx.post(f"{url}/schedule", json=GOOD, headers=headers)
            wrong = headers.get("Authorization") == "Bearer wrong"
            assert_problem(response, 401, "is wrong" if wrong else "needs a key")
            assert httpx.get(f"{url}/algorithms", headers=headers).status_code == 401
        for key in ("first-key", "second-key"):
            headers = {"Authorization": f"Bearer {key}"}
            assert httpx.post(f"{url}/schedule", json=GOOD, headers=headers).status_code == 200
            assert httpx.get(f"{url}/algorithms", headers=headers).status_code == 200
        assert httpx.get(f"{url}/health/ready").status_code == 200


def large_body(**fields):
    channels = iid_channels(np.random.default_rng(40), 64, 1500)
    return {"channels": packed(channels), "gamma_db": -10, **fields}


def test_a_missed_deadline_is_504(client):
    response = client.post("/schedule", json=large_body(deadline_ms=5))
    assert_problem(response, 504, "deadline_ms")
    assert_problem(client.post("/schedule", json={**GOOD, "deadline_ms": 1e-6}), 504)
    assert client.post("/schedule", json=GOOD).status_code == 200


def test_the_servers_deadline_bounds_the_requests():
    with running_service(Settings(deadline_ms=5)) as url:
        response = httpx.post(f"{url}/schedule", json=large_body(deadline_ms=60_000), timeout=30)
        assert_problem(response, 504)


@pytest.fixture
def failing_app(monkeypatch):
    def fail(*arguments, **options):
        raise RuntimeError("secret detail")

    monkeypatch.setattr("app.execution.executor.solve_each", fail)
    return create_app(Settings())


@pytest.mark.anyio
async def test_a_defect_is_500_without_its_details(failing_app, caplog):
    async with failing_app.router.lifespan_context(failing_app):
        transport = httpx.ASGITransport(failing_app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            while (await client.get("/health/ready")).status_code != 200:
                await asyncio.sleep(0.01)
            response = await client.post("/schedule", json=GOOD)
    assert_problem(response, 500)
    assert "secret" not in response.text
    assert "secret detail" in caplog.text


@pytest.mark.anyio
async def test_not_ready_until_the_kernels_are_compiled():
    app = create_app(Settings())
    transport = httpx.ASGITransport(app)
    # Without its lifespan the application never begins to compile.
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        assert (await client.get("/health/live")).status_code == 200
        for response in (
            await client.get("/health/ready"),
            await client.post("/schedule", json=GOOD),
        ):
            assert_problem(response, 503, "being prepared")
            assert response.headers["retry-after"] == "1"
