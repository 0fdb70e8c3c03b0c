"""The OpenAPI document: bodies that the routes read themselves, two media types, problems."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.routing import BaseRoute

from app.api import problems, wire
from app.api.problems import ProblemDetail

_REFERENCE = "#/components/schemas/{model}"
_described: dict[str, type[BaseModel]] = {}


def body(model: type[BaseModel]) -> dict[str, Any]:
    """Return the ``openapi_extra`` of a route that reads ``model`` from JSON or MessagePack."""
    return {"requestBody": {"required": True, "content": _content(model, wire.JSON, wire.MSGPACK)}}


def answers(model: type[BaseModel], *statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the ``responses`` of such a route: ``model``, or a problem with these statuses."""
    answer = {
        "description": "The answer, in the media type that Accept names",
        "content": _content(model, wire.JSON, wire.MSGPACK),
        "headers": {
            "Server-Timing": {
                "description": "Milliseconds spent in decode, solve and encode.",
                "schema": {"type": "string"},
            }
        },
    }
    return {200: answer, **errors(*statuses)}


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the ``responses`` of a route for these error statuses."""
    return {
        status: {
            "description": HTTPStatus(status).phrase,
            "content": _content(ProblemDetail, problems.MEDIA_TYPE),
        }
        for status in statuses
    }


def document(app: FastAPI, more_routes: Sequence[BaseRoute]) -> dict[str, Any]:
    """Return the document of ``app``: its routes, ``more_routes`` first, and their models."""
    if app.openapi_schema is None:
        schema = get_openapi(
            title=app.title,
            version=app.version,
            description=app.description,
            routes=[*more_routes, *app.routes],
        )
        _, definitions = models_json_schema(
            [(model, "validation") for model in _described.values()], ref_template=_REFERENCE
        )
        components = schema.setdefault("components", {})
        schemas = {**components.get("schemas", {}), **definitions["$defs"]}
        components["schemas"] = dict(sorted(schemas.items()))
        components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        # A key, or none where the service is open.
        schema["security"] = [{}, {"key": []}]
        app.openapi_schema = schema
    return app.openapi_schema


def _content(model: type[BaseModel], *media_types: str) -> dict[str, Any]:
    _described[model.__name__] = model
    reference = {"$ref": _REFERENCE.format(model=model.__name__)}
    return {media_type: {"schema": reference} for media_type in media_types}
