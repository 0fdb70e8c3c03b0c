"""Traces: one span for a request, where it belongs, and to where they are sent."""

import sys
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from app.main import create_app
from app.settings import Settings
from tests.api.bodies import nested
from tests.conftest import running_service

BODY = {"channels": nested([[1, 2, 0.1]]), "gamma": 1}


@pytest.fixture
def collector(monkeypatch):
    """A collector of OTLP spans over HTTP."""
    received = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            content = self.rfile.read(int(self.headers["content-length"]))
            received.append(ExportTraceServiceRequest.FromString(content))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *arguments):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
    with ThreadPoolExecutor() as threads:
        threads.submit(server.serve_forever)
        yield received
        server.shutdown()
    server.server_close()


def test_a_request_is_a_span_of_the_callers_trace(collector):
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    headers = {"traceparent": f"00-{trace}-00f067aa0ba902b7-01", "X-Request-ID": "mine"}
    with running_service(Settings(tracing=True)) as url:
        assert httpx.post(f"{url}/schedule", json=BODY, headers=headers).status_code == 200
        while not collector:
            pass
    (span,) = [
        span
        for request in collector
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    assert span.trace_id.hex() == trace
    values = {item.key: item.value for item in span.attributes}
    assert values["airsched.request_id"].string_value == "mine"
    assert values["airsched.algorithm"].string_value == "matching_pursuit"
    assert values["airsched.active"].int_value == 2


def test_without_opentelemetry_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry.instrumentation.asgi", None)
    with pytest.raises(RuntimeError, match=r"pip install .*\[tracing\]"):
        create_app(Settings(tracing=True))
