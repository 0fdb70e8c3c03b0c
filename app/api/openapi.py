"""The OpenAPI document: two media types for bodies, the table of errors, examples that work."""

import json
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from app.api import error_responses, wire
from app.api.error_responses import ProblemDetail
from app.api.errors import Cause, Route
from app.api.example_answers import ANSWERS, error_example
from app.api.examples import EXAMPLES

CONTACT = {"name": "The airsched developers"}
SERVERS = [{"url": "/", "description": "The service that serves this document."}]
TAGS = [
    {"name": "scheduling", "description": "Which devices take part in a round, and how."},
    {"name": "health", "description": "For probes and monitoring; these routes take no key."},
]
BEARER = {
    "type": "http",
    "scheme": "bearer",
    "description": "One of the keys in AIRSCHED_API_KEYS. An open service needs none.",
}
OPTIONAL_KEY: list[dict[str, list[str]]] = [{"key": []}, {}]
"""A key, or none if the service is open."""

_REFERENCE = "#/components/schemas/{model}"
_described: dict[str, type[BaseModel]] = {}


def body(model: type[BaseModel]) -> dict[str, Any]:
    """Return the ``openapi_extra`` of a route that reads ``model`` from JSON or MessagePack."""
    content = _content(model, wire.JSON, wire.MSGPACK)
    content[wire.JSON]["examples"] = EXAMPLES[model]
    return {"requestBody": {"required": True, "content": content}, "security": OPTIONAL_KEY}


def answers(model: type[BaseModel]) -> dict[int | str, dict[str, Any]]:
    """Return the ``responses`` of a scheduling route: ``model``, or one of the errors."""
    answer = {
        "description": "The answer, in the media type that Accept asks for",
        "content": _content(model, wire.JSON, wire.MSGPACK),
        "headers": {
            "Server-Timing": {
                "description": "Milliseconds of wait (for body and turn), decode, solve, encode.",
                "schema": {"type": "string"},
            }
        },
    }
    return {200: answer, **errors("schedule")}


def errors(route: Route) -> dict[int | str, dict[str, Any]]:
    """Return the ``responses`` for the errors that the table lists for ``route``."""
    listed = sorted(
        (cause for cause in Cause if route in cause.value.routes),
        key=lambda cause: cause.value.status,
    )
    return {
        status.value: _error(list(causes))
        for status, causes in groupby(listed, lambda cause: cause.value.status)
    }


def _error(causes: Sequence[Cause]) -> dict[str, Any]:
    described = [
        f"- `{cause.type}`: {cause.value.title}{' (retryable)' if cause.value.retryable else ''}"
        for cause in causes
    ]
    content = _content(ProblemDetail, error_responses.MEDIA_TYPE)
    examples = {cause.slug: error_example(cause) for cause in causes}
    content[error_responses.MEDIA_TYPE]["examples"] = examples
    answer = {"description": "\n".join(described), "content": content}
    headers = {
        name: {"schema": {"type": "string", "examples": [value]}}
        for cause in causes
        for name, value in cause.value.headers.items()
        if name != "Connection"
    }
    return {**answer, "headers": headers} if headers else answer


def document(app: FastAPI) -> dict[str, Any]:
    """Return the document of ``app``: its routes and their models."""
    if app.openapi_schema is None:
        schema = get_openapi(
            title=app.title,
            version=app.version,
            description=app.description,
            routes=app.routes,
            tags=TAGS,
            servers=SERVERS,
            contact=CONTACT,
        )
        # Here, because get_openapi leaves out what is null.
        for model, example in ANSWERS.items():
            for operation in (next(iter(path.values())) for path in schema["paths"].values()):
                content = operation["responses"]["200"].get("content", {}).get(wire.JSON, {})
                if content.get("schema") == {"$ref": _REFERENCE.format(model=model.__name__)}:
                    content["example"] = example
        _, definitions = models_json_schema(
            [(model, "validation") for model in _described.values()], ref_template=_REFERENCE
        )
        components = schema.setdefault("components", {})
        components["schemas"] = {**components.get("schemas", {}), **definitions["$defs"]}
        # Pydantic also defines base classes that nothing refers to.
        text = json.dumps(schema)
        components["schemas"] = {
            name: definition
            for name, definition in sorted(components["schemas"].items())
            if f'"{_REFERENCE.format(model=name)}"' in text
        }
        components["securitySchemes"] = {"key": BEARER}
        app.openapi_schema = schema
    return app.openapi_schema


def _content(model: type[BaseModel], *media_types: str) -> dict[str, Any]:
    _described[model.__name__] = model
    reference = {"$ref": _REFERENCE.format(model=model.__name__)}
    return {media_type: {"schema": reference} for media_type in media_types}
