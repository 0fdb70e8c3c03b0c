"""The service with three routes added, for the benchmarks to start.

``POST /echo`` reads the body and answers ``?size=`` bytes: what a FastAPI route costs that does
nothing; ``POST /plain-echo`` is the same without FastAPI's machinery, as a Starlette route.
``POST /inline-limit?entries=`` moves the border between inline and thread.
"""

from fastapi import FastAPI, Request
from fastapi.responses import Response

from app.main import create_app


def create_benchmark_app() -> FastAPI:
    app = create_app()

    async def echo(request: Request) -> Response:
        await request.body()
        size = int(request.scope["query_string"][len("size=") :])
        return Response(b"x" * size, media_type="application/octet-stream")

    app.post("/echo")(echo)
    app.add_route("/plain-echo", echo, methods=["POST"])

    @app.post("/inline-limit")
    async def inline_limit(request: Request) -> Response:
        app.state.service.executor.inline_entries = int(request.query_params["entries"])
        return Response()

    return app


app = create_benchmark_app()
