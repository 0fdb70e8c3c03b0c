"""What one process of the service holds: settings, limits, the executor, readiness."""

import asyncio
import logging
import time
from collections.abc import Mapping

from app.compilation import SMALL, compile_kernels
from app.execution import Executor
from app.scheduling import solve
from app.settings import Settings

logger = logging.getLogger("airsched")


class NotReadyError(Exception):
    """The kernels are still being compiled."""


class Service:
    """The state behind the routes; it remembers nothing of a request."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.limits: Mapping[str, int] = {
            "antennas": settings.max_antennas,
            "devices": settings.max_devices,
        }
        self.executor = Executor(settings.solver_workers, settings.queue_length)
        self._compiling: asyncio.Task[None] | None = None
        self._ready = False

    def start(self) -> None:
        """Compile the kernels in the background; the process is live at once, ready later."""
        self._compiling = asyncio.create_task(self._compile())

    async def close(self) -> None:
        """Wait for what is running."""
        if self._compiling is not None:
            await asyncio.wait([self._compiling])
        await asyncio.to_thread(self.executor.close)

    def require_ready(self) -> None:
        """Raise :class:`NotReadyError` until the kernels are compiled."""
        if not self._ready:
            raise NotReadyError

    def check(self) -> None:
        """Solve a small problem; raises if the answer does not verify."""
        solve(SMALL)

    async def _compile(self) -> None:
        started = time.perf_counter()
        try:
            # Slow schedulers run in processes, which load their own.
            await asyncio.to_thread(compile_kernels, ["short", "anytime"])
        except Exception:
            logger.exception("the kernels could not be compiled; the service will not be ready")
            return
        self._ready = True
        logger.debug("kernels ready after %.1f s", time.perf_counter() - started)
