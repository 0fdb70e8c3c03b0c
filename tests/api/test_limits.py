"""Exactly at a limit a request is served, and one beyond it is refused, at no cost."""

import json

import httpx
import numpy as np
import pytest

from app.settings import Settings
from lab.channels import iid_channels
from tests.api.bodies import nested, packed
from tests.api.test_errors import assert_problem, raw_exchange
from tests.conftest import running_service

BODY_BYTES = 5000
SETTINGS = Settings(
    max_antennas=3,
    max_devices=5,
    max_elements=4,
    max_batch=2,
    max_body_bytes=BODY_BYTES,
    api_keys="secret",
)
KEY = {"Authorization": "Bearer secret"}
RNG = np.random.default_rng(90)


@pytest.fixture(scope="module")
def url():
    with running_service(SETTINGS) as url:
        yield url


def post(url, path, body):
    return httpx.post(f"{url}{path}", json=body, headers=KEY)


@pytest.mark.parametrize("form", [nested, packed])
def test_antennas_and_devices(url, form):
    for antennas, devices, refused in ((3, 5, ""), (4, 5, "4 antennas"), (3, 6, "6 devices")):
        channels = form(iid_channels(RNG, antennas, devices))
        response = post(url, "/schedule", {"channels": channels, "gamma": 1})
        if refused:
            assert_problem(response, 422, f"{refused} are over this server's limit of")
        else:
            assert response.status_code == 200


@pytest.mark.parametrize("form", [nested, packed])
def test_rounds_of_a_batch(url, form):
    batch = iid_channels(RNG, 9, 5).reshape(3, 3, 5)
    assert post(url, "/schedule/batch", {"channels": form(batch[:2]), "gamma": 1}).is_success
    response = post(url, "/schedule/batch", {"channels": form(batch), "gamma": 1})
    assert_problem(response, 422, "3 rounds are over this server's limit of 2")


@pytest.mark.parametrize("form", [nested, packed])
def test_elements_of_a_surface(url, form):
    for elements in (4, 5):
        body = {
            "direct": form(iid_channels(RNG, 3, 5)),
            "irs_to_server": form(iid_channels(RNG, 3, elements)),
            "devices_to_irs": form(iid_channels(RNG, elements, 5)),
            "gamma": 1,
        }
        response = post(url, "/schedule/irs", body)
        if elements == 5:
            assert_problem(response, 422, "5 elements are over this server's limit of 4")
        else:
            assert response.status_code == 200


def request(content, *, chunked):
    """Return a whole request, after which the client expects no more than one answer."""
    head = "POST /schedule HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\n"
    head += "Connection: close\r\nContent-Type: application/json\r\n"
    if not chunked:
        return f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content
    parts = [content[start : start + 1000] for start in range(0, len(content), 1000)]
    chunks = [f"{len(part):x}\r\n".encode() + part + b"\r\n" for part in [*parts, b""]]
    return f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + b"".join(chunks)


@pytest.mark.parametrize("chunked", [False, True])
def test_bytes_of_a_body(url, chunked):
    content = json.dumps({"channels": nested(iid_channels(RNG, 3, 5)), "gamma": 1}).encode()
    for size, status in ((BODY_BYTES, b"200"), (BODY_BYTES + 1, b"413")):
        answer = raw_exchange(url, request(content.ljust(size), chunked=chunked))
        assert answer.split()[1] == status


HEADS = {
    "415": "Authorization: Bearer secret\r\nContent-Type: text/csv\r\nContent-Length: 4000\r\n",
    "401": "Content-Type: application/json\r\nContent-Length: 4000\r\n",
    "413": "Authorization: Bearer secret\r\nContent-Type: application/json\r\n"
    "Content-Length: 5001\r\n",
}


@pytest.mark.parametrize("status", HEADS)
def test_a_body_that_nobody_wants_is_not_waited_for(url, status):
    """Its first bytes are refused, and the connection ends: the rest is never read."""
    head = f"POST /schedule HTTP/1.1\r\nHost: x\r\n{HEADS[status]}\r\n".encode()
    # Reads until the service closes, and would wait for longer than the test may take.
    answer = raw_exchange(url, head + b'{"channels"')
    assert answer.split()[1] == status.encode()
    assert b"connection: close" in answer.partition(b"\r\n\r\n")[0].lower()
    assert answer.count(b"HTTP/1.1") == 1
