"""SIGTERM while the service runs in a process that it does not own: borrowed, and given back."""

import asyncio
import os
import signal

import httpx
import pytest

from app.main import create_app
from app.settings import Settings


@pytest.fixture
def received():
    """Count the SIGTERMs that reach whoever ran the service."""
    numbers = []

    def handler(number, frame):
        numbers.append(number)

    before = signal.signal(signal.SIGTERM, handler)
    yield numbers
    assert signal.getsignal(signal.SIGTERM) is handler
    signal.signal(signal.SIGTERM, before)


@pytest.mark.anyio
async def test_the_handler_is_given_back(received):
    for _ in range(2):
        app = create_app(Settings())
        before = signal.getsignal(signal.SIGTERM)
        async with app.router.lifespan_context(app):
            assert signal.getsignal(signal.SIGTERM) is not before
        assert signal.getsignal(signal.SIGTERM) is before
    os.kill(os.getpid(), signal.SIGTERM)
    assert received == [signal.SIGTERM]


@pytest.mark.anyio
async def test_a_handler_set_meanwhile_stays(received):
    app = create_app(Settings())
    before = signal.getsignal(signal.SIGTERM)

    def other(number, frame):
        pass

    async with app.router.lifespan_context(app):
        signal.signal(signal.SIGTERM, other)
    assert signal.getsignal(signal.SIGTERM) is other
    signal.signal(signal.SIGTERM, before)


@pytest.mark.anyio
async def test_it_is_passed_on_after_the_drain(received):
    app = create_app(Settings(drain_seconds=0.5))
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://test") as client,
    ):
        while (await client.get("/health/ready")).status_code != 200:
            await asyncio.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)
        answer = await client.get("/health/ready")
        assert answer.status_code == 503
        assert "being stopped" in answer.json()["detail"]
        assert received == []
        await asyncio.sleep(0.7)
        assert received == [signal.SIGTERM]
