"""Errors as ``application/problem+json`` (RFC 9457), each as its row of the table says."""

from collections.abc import Mapping, Sequence
from functools import cache
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field, ValidationError
from pydantic_core import to_json
from starlette.types import Scope, Send

from app import metrics
from app.api.errors import ApiError, Cause
from app.logs import logger
from app.scheduling import InvalidProblemError
from app.shares import OverloadedError

MEDIA_TYPE = "application/problem+json"

SAFE_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]
"""Sent with every answer."""

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
    """Answer every error of ``app`` as the table says."""
    for raised in (ApiError, *_RAISED):
        app.add_exception_handler(raised, _handle)


# A coroutine, because Starlette gives other handlers a thread each, which an overloaded service
# cannot spare.
async def _handle(request: Request, error: Exception) -> Response:
    return answer_to(request, error)


def answer_to(request: Request, error: Exception) -> Response:
    """Return the answer to a request that failed with ``error``, which is raised if it has none."""
    cause = _cause_of(error)
    if cause.value.status == HTTPStatus.INTERNAL_SERVER_ERROR:
        fields = {"request_id": request.scope["observation"].request_id}
        logger.error(cause.value.title, exc_info=error, extra={"fields": fields})
    return respond(request, cause, error)


def _cause_of(error: Exception) -> Cause:
    if isinstance(error, ApiError):
        return error.cause
    kinds = (getattr(error, "status_code", None), *type(error).__mro__)
    for kind in kinds:
        if kind in _RAISED:
            return _RAISED[kind]
    raise error


async def refuse(scope: Scope, send: Send, error: OverloadedError) -> None:
    """Refuse a request because of overload, at little cost."""
    cause = _RAISED[type(error)]
    scope["observation"].cause = cause.slug
    metrics.REJECTED.labels(cause.slug).inc()
    headers, content = _parts(cause)
    await send({"type": "http.response.start", "status": cause.value.status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


@cache
def _parts(cause: Cause, **values: object) -> tuple[list[tuple[bytes, bytes]], bytes]:
    """Return the headers and the body of an answer whose detail has just these ``values``."""
    content = to_json(problem(cause, cause.value.detail.format(**values)))
    headers = {**cause.value.headers, "Content-Type": MEDIA_TYPE, "Content-Length": len(content)}
    return [
        (name.lower().encode(), str(value).encode()) for name, value in headers.items()
    ], content


@cache
def raw_answer(cause: Cause, **values: object) -> tuple[bytes, bytes]:
    """Return an answer as it goes over the wire, for a request that never gets to the application.

    Returns
    -------
    The status line and headers, to which others can be added, and the rest.
    """
    headers, content = _parts(cause, **values)
    status = cause.value.status
    lines = [f"HTTP/1.1 {status.value} {status.phrase}".encode()]
    lines += [b"%b: %b" % header for header in (*headers, *SAFE_HEADERS)]
    return b"".join(line + b"\r\n" for line in lines), b"\r\n" + content


def respond(request: Request, cause: Cause, error: Exception) -> Response:
    """Return the answer to a request that failed with ``error`` for this cause."""
    request.scope["observation"].cause = cause.slug
    row = cause.value
    errors = _field_errors(error)
    detail = row.detail.format(
        error=error,
        method=request.method,
        path=request.url.path[:200],
        fields=_in_words(errors),
        **(error.values if isinstance(error, ApiError) else {}),
    )
    body = problem(cause, detail)
    if errors:
        body["errors"] = errors[:MAX_FIELD_ERRORS]
    # An HTTPException brings headers of its own, such as Allow.
    headers = {**row.headers, **(getattr(error, "headers", None) or {})}
    if (timing := request.scope.get("timing")) is not None:
        headers["Server-Timing"] = str(timing)
    return Response(to_json(body), status_code=row.status, headers=headers, media_type=MEDIA_TYPE)


def problem(cause: Cause, detail: str) -> dict[str, Any]:
    """Return the fields of :class:`ProblemDetail` but ``errors``."""
    row = cause.value
    return {
        "type": cause.type,
        "title": row.title,
        "status": row.status.value,
        "detail": detail,
        "retryable": row.retryable,
    }


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
