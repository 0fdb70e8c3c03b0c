"""Lets only requests with a key reach some paths."""

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from app.api.error_responses import respond
from app.api.errors import ApiError
from app.api.security import require_key
from app.settings import Settings


class KeyGate:
    """Wraps an application.

    Parameters
    ----------
    paths
        These, and all below them, need a key.
    """

    def __init__(self, app: ASGIApp, paths: tuple[str, ...], settings: Settings) -> None:
        self._app, self._paths, self._settings = app, paths, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer that the key is missing or wrong."""
        if scope["type"] == "http" and self._guards(scope["path"]):
            try:
                require_key(dict(scope["headers"]), self._settings)
            except ApiError as error:
                await respond(Request(scope), error.cause, error)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _guards(self, path: str) -> bool:
        return any(path == guarded or path.startswith(f"{guarded}/") for guarded in self._paths)


def guarded_paths(settings: Settings) -> tuple[str, ...]:
    """Return the paths that need a key, beside those that always do.

    Not ``/docs``, where a browser could not send one: it tells nothing, and asks for a key itself.
    """
    docs = ("/openapi.json",) if settings.docs_key else ()
    return docs + (("/metrics",) if settings.metrics_key else ())
