"""What a client's settings make of every request: timeouts, headers and the address."""

import httpx
import pytest


def sent(call, base_url="http://test", **settings):
    """Return the request that a client with these settings sends."""
    requests = []

    def handle(request):
        requests.append(request)
        return httpx.Response(200, json={"algorithms": []})

    call(base_url, {"transport": httpx.MockTransport(handle), **settings}, "algorithms")
    (request,) = requests
    return request


@pytest.mark.parametrize(
    ("settings", "connect", "answer"),
    [({}, 5, 35), ({"timeout": 60}, 5, 60), ({"timeout": 5}, 5, 5), ({"timeout": 2}, 2, 2)],
)
def test_connecting_has_a_shorter_timeout_than_the_answer(call, settings, connect, answer):
    timeout = sent(call, **settings).extensions["timeout"]
    assert timeout["connect"] == connect
    assert timeout["read"] == timeout["write"] == answer


@pytest.mark.parametrize("encoding", ["msgpack", "json"])
def test_headers(call, encoding):
    headers = sent(call, encoding=encoding).headers
    assert headers["accept"] == f"application/{encoding}"
    assert "authorization" not in headers
    assert sent(call, api_key="secret").headers["authorization"] == "Bearer secret"


def test_a_path_in_the_address_is_kept(call):
    request = sent(call, "http://test/behind/a/gateway")
    assert request.url == "http://test/behind/a/gateway/algorithms"
