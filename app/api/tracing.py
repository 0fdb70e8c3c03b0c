"""OpenTelemetry traces, for those who install the extra ``tracing`` and switch them on.

Each request becomes a span, with what the log says of it as attributes; a ``traceparent`` that it
brings is carried on. Where the spans go is set by OpenTelemetry's own variables, such as
``OTEL_EXPORTER_OTLP_ENDPOINT``.
"""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI

from app import __version__


def install(app: FastAPI) -> None:
    """Trace every request of ``app`` but the probes."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise RuntimeError(
            "AIRSCHED_TRACING is set but OpenTelemetry is not installed: run pip install "
            "'.[tracing]' in the repository of airsched, or unset the variable"
        ) from None
    resource = Resource.create({"service.name": "airsched", "service.version": __version__})
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    app.add_middleware(
        OpenTelemetryMiddleware,
        tracer_provider=provider,
        excluded_urls="health/live,health/ready,metrics",
        exclude_spans=["receive", "send"],
    )


def annotate(fields: Mapping[str, Any]) -> None:
    """Add to the span of the request what became known of it."""
    from opentelemetry import trace

    trace.get_current_span().set_attributes(
        {f"airsched.{name}": value for name, value in fields.items()}
    )
