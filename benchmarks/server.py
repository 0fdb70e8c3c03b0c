"""The service with routes added that only benchmarks use.

- ``POST /echo`` reads the body and answers ``?size=`` bytes: the cost of a FastAPI route that does
  nothing; ``POST /plain-echo`` is the same as a Starlette route, without FastAPI's machinery.
- ``POST /loop-limit?seconds=`` sets the longest estimate that still runs on the event loop.
- ``GET /pid`` returns the id of the process.
- ``POST /profile`` begins to sample where the time goes; ``GET /profile`` ends it and answers.
"""

import argparse
import os

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import Response

from app.main import create_app
from app.server import uvicorn_options
from app.settings import Settings
from benchmarks import profiling


def create_benchmark_app() -> FastAPI:
    app = create_app()

    async def echo(request: Request) -> Response:
        await request.body()
        size = int(request.scope["query_string"][len("size=") :])
        return Response(b"x" * size, media_type="application/octet-stream")

    app.post("/echo")(echo)
    app.add_route("/plain-echo", echo, methods=["POST"])

    @app.get("/pid")
    async def pid() -> Response:
        return Response(str(os.getpid()))

    @app.post("/profile")
    async def begin_profile() -> Response:
        profiling.start()
        return Response()

    @app.get("/profile")
    async def end_profile() -> dict[str, float]:
        return profiling.stop()

    @app.post("/loop-limit")
    async def loop_limit(request: Request) -> Response:
        app.state.service.executor.loop_seconds = float(request.query_params["seconds"])
        return Response()

    return app


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    port = parser.parse_args().port
    options = uvicorn_options(Settings())
    uvicorn.run(create_benchmark_app(), port=port, log_level="warning", **options)
