"""The ASGI application: ``create_app()``, and ``app`` with the settings of the environment."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from starlette.routing import Route

from app import __version__
from app.api import error_responses, openapi, page, routes, tracing
from app.api.endpoint import Shortcut
from app.api.key_gate import KeyGate, guarded_paths
from app.api.observer import Observer, Records
from app.api.scheduling_routes import SCHEDULING_ROUTES
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
        # For the protocol, which knows the application only by this.
        yield {"settings": settings}
        await service.close()

    app = FastAPI(
        title="airsched",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        openapi_url="/openapi.json" if settings.docs else None,
        # FastAPI's own pages load from another host; :mod:`app.api.page` serves one that does not.
        docs_url=None,
        redoc_url=None,
        # Newer versions trace by themselves; here :mod:`app.api.tracing` does, where it is wanted.
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.state.service = service
    routes.install(app, settings)
    page.install(app, settings)
    error_responses.install(app)
    paths = frozenset(route.path for route in app.routes if isinstance(route, Route))
    annotate = tracing.annotate if settings.tracing else None
    if guarded := guarded_paths(settings):
        app.add_middleware(KeyGate, paths=guarded, settings=settings)
    endpoints = {route.path: route.endpoint for route in SCHEDULING_ROUTES}
    app.add_middleware(Shortcut, endpoints=endpoints)
    records = Records(paths, quiet=paths & routes.PROBES)
    app.add_middleware(Observer, records=records, annotate=annotate)
    if settings.tracing:
        tracing.install(app)
    documented = [route.documented() for route in SCHEDULING_ROUTES]
    # FastAPI's own way to replace the document that it would generate.
    app.openapi = lambda: openapi.document(app, documented)  # type: ignore[method-assign]
    return app


app = create_app()
