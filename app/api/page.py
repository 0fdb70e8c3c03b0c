"""The page at ``/``, and Swagger UI at ``/docs``: files of this and another package.

Nothing comes from another host, and the policy in ``Content-Security-Policy`` has the browser see
to that. Swagger UI is taken from ``fastapi-swagger``, which publishes Swagger UI's own releases.
"""

from collections.abc import Iterable
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePath

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.settings import Settings

_OWN = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; {more}; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
PAGE_POLICY = _OWN.format(more="img-src 'self' blob:; require-trusted-types-for 'script'")
"""A blob is how the page turns a picture of its own into a PNG."""

DOCS_POLICY = _OWN.format(more="img-src 'self' data:")
"""Swagger UI's style sheet holds its pictures."""

_FILES = files("app") / "page"
_DOCS_ONLY = {"docs.css", "docs.html", "docs.js"}
_DOCS_FILES = _DOCS_ONLY | {"dom.js", "icon.svg", "key.js", "service.js"}
_MEDIA_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_DOCS_LINK = b'<a href="docs">API</a>'
_PAGE_LINK = b'<a id="back" href="./">Play with a cell</a>'


def install(app: FastAPI, settings: Settings) -> None:
    """Add the page and Swagger UI to ``app``, unless the settings switch them off."""
    if settings.page:
        page = _read(file for file in _FILES.iterdir() if file.name not in _DOCS_ONLY)
        index = page.pop("index.html")
        if not settings.docs:
            index = index.replace(_DOCS_LINK, b"")
        app.routes.extend(_serve("/", "/page", index, page, PAGE_POLICY))
    if settings.docs:
        swagger = files("fastapi_swagger") / "resources"
        docs = _read(_FILES / name for name in _DOCS_FILES)
        docs |= _read(swagger / name for name in ("swagger-ui-bundle.js", "swagger-ui.css"))
        document = docs.pop("docs.html")
        if not settings.page:
            document = document.replace(_PAGE_LINK, b"")
        app.routes.extend(_serve("/docs", "/docs", document, docs, DOCS_POLICY))


def _read(paths: Iterable[Traversable]) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in paths}


def _serve(
    path: str, folder: str, document: bytes, contents: dict[str, bytes], policy: str
) -> list[Route]:
    """Return the routes of a document and of the files it loads."""
    headers = {"Content-Security-Policy": policy}

    async def index(request: Request) -> Response:
        return Response(document, media_type="text/html", headers=headers)

    async def file(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in contents:
            raise HTTPException(404)
        media_type = _MEDIA_TYPES[PurePath(name).suffix]
        return Response(contents[name], media_type=media_type, headers=headers)

    return [Route(path, index), Route(f"{folder}/{{name}}", file)]
