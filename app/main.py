"""The ASGI application: ``create_app()``, and ``app`` with the settings of the environment."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from starlette.routing import Route

from app import __version__
from app.api import error_responses, openapi, page, routes, tracing
from app.api.observer import Observer, Records
from app.server import connection_limit
from app.service import Service
from app.settings import Settings

DESCRIPTION = (
    "Decides, round by round, which devices take part in over-the-air federated learning: "
    "post the channels, the aggregation weights and a tolerance, and get the receiver, the "
    "active set and the power factor back."
)


def create_app(settings: Settings | None = None) -> FastAPI:
    """Wire the service together; ``settings`` are the environment's if None."""
    settings = settings or Settings()
    service = Service(settings)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[dict[str, Any]]:
        service.start()
        # What the protocol needs, which knows the application only by this.
        yield {
            "settings": settings,
            "records": records,
            "max_connections": connection_limit(settings),
        }
        await service.close()

    app = FastAPI(
        title="airsched",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        # Served by :mod:`app.api.routes` and :mod:`app.api.page`: FastAPI's own pages load from
        # another host.
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        # A redirect would repeat the Host header, which a client can set as it likes.
        redirect_slashes=False,
        # Newer versions trace by themselves; here :mod:`app.api.tracing` does, where it is wanted.
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.state.service = service
    routes.install(app, settings)
    page.install(app, settings)
    error_responses.install(app)
    paths = frozenset(route.path for route in app.routes if isinstance(route, Route))
    records = Records(paths, quiet=paths & routes.PROBES)
    annotate = tracing.annotate if settings.tracing else None
    app.add_middleware(Observer, records=records, annotate=annotate)
    if settings.tracing:
        tracing.install(app)
    # FastAPI's own way to replace the document that it would generate.
    app.openapi = lambda: openapi.document(app)  # type: ignore[method-assign]
    return app


app = create_app()
