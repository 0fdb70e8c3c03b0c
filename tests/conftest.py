"""A real server for the tests: uvicorn on a free port of 127.0.0.1."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
import uvicorn

from app.main import create_app
from app.server import uvicorn_options
from app.settings import Settings


def pytest_configure() -> None:
    """Compile the kernels in one process; all others load them, and compute the same bits."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        subprocess.run([sys.executable, "-m", "app.warmup"], check=True)


@contextmanager
def running_service(settings: Settings, port: int = 0) -> Iterator[str]:
    """Serve an application with these settings, and yield its address once it is ready."""
    options = uvicorn_options(settings)
    config = uvicorn.Config(create_app(settings), port=port, log_level="warning", **options)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        give_up = time.monotonic() + 300
        while not server.started:
            assert time.monotonic() < give_up
            time.sleep(0.01)
        url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        while httpx.get(f"{url}/health/ready").status_code != 200:
            assert time.monotonic() < give_up
            time.sleep(0.02)
        yield url
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="session")
def service_url() -> Iterator[str]:
    with running_service(Settings()) as url:
        yield url


@pytest.fixture(scope="session")
def client(service_url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=service_url, timeout=30) as client:
        yield client


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
