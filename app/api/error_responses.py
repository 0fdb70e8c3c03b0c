"""Errors as ``application/problem+json`` (RFC 9457), each as its row of the table says."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field, ValidationError
from pydantic_core import to_json
from starlette.types import Scope

from app.api.errors import ApiError, Cause
from app.logs import logger
from app.scheduling import InvalidProblemError

MEDIA_TYPE = "application/problem+json"

MAX_FIELD_ERRORS = 10
"""At most this many field errors are listed; the rest are counted."""


class FieldError(BaseModel):
    """One thing wrong with one field."""

    loc: list[str | int] = Field(description="Path to the field, from the top of the body.")
    msg: str


class ProblemDetail(BaseModel):
    """An error, as RFC 9457 describes it."""

    type: str = Field(
        description="Identifies the cause; the description of each answer lists those it can have.",
        examples=[Cause.INVALID_REQUEST.type],
    )
    title: str = Field(description="The cause in a few words.")
    status: int
    detail: str = Field(description="What happened, and what to do.")
    retryable: bool = Field(
        description="Whether the same request can succeed if it is repeated, after the seconds in "
        "Retry-After if there are any."
    )
    errors: list[FieldError] | None = Field(
        default=None, description="What is wrong with which field; with status 422 only."
    )


_RAISED: dict[Any, Cause] = {raised: cause for cause in Cause for raised in cause.value.raised_by}


def install(app: FastAPI) -> None:
    """Answer every error of ``app`` as the table says; what is not in it, the observer passes."""
    for raised in (ApiError, *_RAISED):
        app.add_exception_handler(raised, _handle)


# A coroutine, because Starlette gives other handlers a thread each, which an overloaded service
# cannot spare.
async def _handle(request: Request, error: Exception) -> Response:
    return answer_to(request.scope, error)


def answer_to(scope: Scope, error: Exception) -> Response:
    """Return the answer to a request that failed with ``error``, and log what is our fault."""
    cause = _cause_of(error)
    observation = scope["observation"]
    observation.cause = cause
    if cause.value.status == HTTPStatus.INTERNAL_SERVER_ERROR:
        fields = {"request_id": observation.request_id}
        logger.error(cause.value.title, exc_info=error, extra={"fields": fields})
    values = {"error": error, "method": scope["method"], "path": scope["path"][:200]}
    # An HTTPException brings headers of its own, such as Allow.
    headers = {**cause.value.headers, **(getattr(error, "headers", None) or {})}
    content = to_json(problem(cause, error, values))
    return Response(content, cause.value.status, headers, MEDIA_TYPE)


def raw_answer(error: ApiError, more_headers: Sequence[tuple[bytes, bytes]]) -> bytes:
    """Return an answer as it goes over the wire, to a request that the application never sees."""
    row = error.cause.value
    content = to_json(problem(error.cause, error, {}))
    headers = {**row.headers, "Content-Type": MEDIA_TYPE}
    lines = [f"HTTP/1.1 {row.status.value} {row.status.phrase}".encode()]
    lines += [f"{name.lower()}: {value}".encode() for name, value in headers.items()]
    lines += [b"content-length: %d" % len(content)]
    lines += [b"%b: %b" % header for header in more_headers]
    return b"\r\n".join([*lines, b"", content])


def _cause_of(error: Exception) -> Cause:
    if isinstance(error, ApiError):
        return error.cause
    kinds = (getattr(error, "status_code", None), *type(error).__mro__)
    return next((_RAISED[kind] for kind in kinds if kind in _RAISED), Cause.INTERNAL)


def problem(cause: Cause, error: Exception, values: Mapping[str, object]) -> dict[str, Any]:
    """Return the fields of :class:`ProblemDetail`."""
    row, errors = cause.value, _field_errors(error)
    own = error.values if isinstance(error, ApiError) else {}
    body: dict[str, Any] = {
        "type": cause.type,
        "title": row.title,
        "status": row.status.value,
        "detail": row.detail.format(fields=_in_words(errors), **values, **own),
        "retryable": row.retryable,
    }
    if errors:
        body["errors"] = errors[:MAX_FIELD_ERRORS]
    return body


def _field_errors(error: Exception) -> Sequence[Mapping[str, Any]]:
    if isinstance(error, ValidationError):
        return [
            {
                "loc": [part if isinstance(part, int) else part[:100] for part in item["loc"]],
                "msg": item["msg"].removeprefix("Value error, "),
            }
            for item in error.errors(include_url=False, include_context=False, include_input=False)
        ]
    if isinstance(error, InvalidProblemError):
        return [{"loc": [error.field], "msg": error.message}]
    return error.errors if isinstance(error, ApiError) else ()


def _in_words(errors: Sequence[Mapping[str, Any]]) -> str:
    listed = [
        f"{'.'.join(map(str, error['loc'])) or 'body'}: {error['msg']}"
        for error in errors[:MAX_FIELD_ERRORS]
    ]
    if len(errors) > MAX_FIELD_ERRORS:
        listed.append(f"and {len(errors) - MAX_FIELD_ERRORS} more")
    return "; ".join(listed)
