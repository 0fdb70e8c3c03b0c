"""Errors as ``application/problem+json`` (RFC 9457): what was wrong, where, and what to do."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field, ValidationError
from pydantic_core import ErrorDetails, to_json
from starlette.exceptions import HTTPException
from starlette.types import Scope

from app import metrics
from app.execution import OverloadedError
from app.logs import logger
from app.scheduling import DeadlineExceededError, InvalidProblemError
from app.service import NotReadyError
from app.workers import WorkerDiedError

MEDIA_TYPE = "application/problem+json"
MOST_ERRORS = 20
"""At most this many errors are listed; the rest are counted."""


class FieldProblem(BaseModel):
    """One thing wrong with one field."""

    loc: list[str | int] = Field(description="Path to the field, from the body's top.")
    msg: str


class ProblemDetail(BaseModel):
    """An error, as RFC 9457 describes it."""

    type: str = Field(description="Identifies the kind of problem.")
    title: str
    status: int
    detail: str
    errors: list[FieldProblem] | None = Field(
        default=None, description="What is wrong with which field; with status 422 only."
    )


class ApiError(Exception):
    """An error that is answered as it is: status, words and headers."""

    def __init__(
        self,
        status: HTTPStatus,
        detail: str,
        *,
        errors: Sequence[Mapping[str, Any]] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.errors = errors
        self.headers = dict(headers or {})


def invalid(errors: Sequence[Mapping[str, Any]]) -> ApiError:
    """Return the 422 for these ``{loc, msg}`` errors, worded for people in ``detail``."""
    listed = [
        f"{'.'.join(map(str, error['loc'])) or 'body'}: {error['msg']}"
        for error in errors[:MOST_ERRORS]
    ]
    if len(errors) > MOST_ERRORS:
        listed.append(f"and {len(errors) - MOST_ERRORS} more")
    return ApiError(HTTPStatus.UNPROCESSABLE_ENTITY, "; ".join(listed), errors=errors[:MOST_ERRORS])


def install(app: FastAPI) -> None:
    """Answer every error of ``app`` as a problem.

    The handlers are coroutines because others would each be given a thread: a service that is
    overloaded could least afford to say so.
    """

    async def api_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, ApiError)
        return _respond(request, error)

    async def invalid_request(request: Request, error: Exception) -> Response:
        assert isinstance(error, ValidationError)
        return _respond(
            request, invalid([_plain(item) for item in error.errors(include_url=False)])
        )

    async def refused(request: Request, error: Exception) -> Response:
        # By the scheduler itself, for a problem that is fine for others.
        assert isinstance(error, InvalidProblemError)
        return _respond(request, invalid([{"loc": [error.field], "msg": error.message}]))

    async def http_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        status = HTTPStatus(error.status_code)
        detail = {
            404: f"There is nothing at {request.url.path[:200]}; see /docs for what there is.",
            405: f"{request.method} is not allowed at {request.url.path[:200]}.",
        }.get(error.status_code, status.description or status.phrase)
        return _respond(request, ApiError(status, detail, headers=error.headers))

    async def overloaded(request: Request, error: Exception) -> Response:
        assert isinstance(error, OverloadedError)
        metrics.REJECTED.labels(error.reason).inc()
        return _respond(request, _unavailable("There is more to do than the service takes on"))

    async def not_ready(request: Request, error: Exception) -> Response:
        return _respond(request, _unavailable(str(error)))

    async def late(request: Request, error: Exception) -> Response:
        detail = (
            "The deadline passed before there was anything to answer; "
            "raise deadline_ms or choose a faster algorithm."
        )
        return _respond(request, ApiError(HTTPStatus.GATEWAY_TIMEOUT, detail))

    async def died(request: Request, error: Exception) -> Response:
        fields = {"request_id": request.scope["observation"].request_id}
        logger.error("a solver process died", exc_info=error, extra={"fields": fields})
        detail = "The process that solved this request died; nothing else is affected. Repeat it."
        return _respond(request, ApiError(HTTPStatus.INTERNAL_SERVER_ERROR, detail))

    app.add_exception_handler(ApiError, api_error)
    app.add_exception_handler(ValidationError, invalid_request)
    app.add_exception_handler(InvalidProblemError, refused)
    app.add_exception_handler(HTTPException, http_error)
    app.add_exception_handler(OverloadedError, overloaded)
    app.add_exception_handler(NotReadyError, not_ready)
    app.add_exception_handler(DeadlineExceededError, late)
    app.add_exception_handler(WorkerDiedError, died)


def failure(scope: Scope) -> Response:
    """Return the 500 for an error that nobody foresaw."""
    detail = "The service failed on this request; the cause is in its log, under this request's id."
    return _respond(Request(scope), ApiError(HTTPStatus.INTERNAL_SERVER_ERROR, detail))


def _unavailable(reason: str) -> ApiError:
    detail = f"{reason}; try again after Retry-After seconds."
    return ApiError(HTTPStatus.SERVICE_UNAVAILABLE, detail, headers={"Retry-After": "1"})


def _plain(error: ErrorDetails) -> dict[str, Any]:
    """Keep the place and the message of one of pydantic's errors."""
    return {"loc": list(error["loc"]), "msg": error["msg"].removeprefix("Value error, ")}


def _respond(request: Request, error: ApiError) -> Response:
    body: dict[str, Any] = {
        "type": f"urn:airsched:problem:{error.status.name.lower().replace('_', '-')}",
        "title": error.status.phrase,
        "status": error.status.value,
        "detail": error.detail,
    }
    if error.errors is not None:
        body["errors"] = error.errors
    headers = error.headers
    if (timing := request.scope.get("timing")) is not None:
        headers["Server-Timing"] = str(timing)
    return Response(to_json(body), status_code=error.status, headers=headers, media_type=MEDIA_TYPE)
