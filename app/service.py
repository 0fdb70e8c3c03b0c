"""What one process of the service holds: settings, limits, the executor, readiness."""

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Mapping
from types import FrameType

from app.compilation import SMALL, compile_kernels
from app.execution import Executor, OverloadedError
from app.logs import logger
from app.scheduling import solve
from app.settings import Settings


class NotReadyError(Exception):
    """The service is starting or stopping; the message says which."""


class ConcurrencyLimitError(OverloadedError):
    """As many requests are in progress as may be."""


class Service:
    """The state behind the routes; it remembers nothing of a request."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.limits: Mapping[str, int] = {
            "antennas": settings.max_antennas,
            "devices": settings.max_devices,
            "elements": settings.max_elements,
            "rounds": settings.max_batch,
        }
        self.executor = Executor(settings.solver_workers, settings.queue_length)
        self._compiling: asyncio.Task[None] | None = None
        self._compiled = False
        self._draining = False
        self._in_progress = 0
        self._restore_sigterm: Callable[[], None] = lambda: None

    def start(self) -> None:
        """Compile the kernels in the background; the process is live at once, ready later."""
        self._compiling = asyncio.create_task(self._compile())
        if threading.current_thread() is threading.main_thread():
            self._drain_at_sigterm()

    async def close(self) -> None:
        """Wait for what is running, and give SIGTERM back to whoever had it."""
        if self._compiling is not None:
            await asyncio.wait([self._compiling])
        await asyncio.to_thread(self.executor.close)
        self._restore_sigterm()

    def require_compiled(self) -> None:
        """Raise :class:`NotReadyError` until the kernels are compiled."""
        if not self._compiled:
            raise NotReadyError("The kernels are still being compiled")

    def check(self) -> None:
        """Solve a small problem, unless the service should get no more requests."""
        if self._draining:
            raise NotReadyError("The service is being stopped")
        self.require_compiled()
        solve(SMALL)

    def enter(self) -> None:
        """Count a request in; :class:`ConcurrencyLimitError` if there are too many."""
        if self._in_progress >= self.settings.max_concurrency:
            raise ConcurrencyLimitError
        self._in_progress += 1

    def leave(self) -> None:
        """Count a request out."""
        self._in_progress -= 1

    def _drain_at_sigterm(self) -> None:
        """At SIGTERM, first say that no more requests are wanted, and stop a little later.

        Whoever routes requests here needs that time to notice. The server's own handler comes
        then: it takes no more connections, and ends when the requests in flight are answered.
        """
        loop = asyncio.get_running_loop()
        stop = signal.getsignal(signal.SIGTERM)

        def drain(number: int, frame: FrameType | None) -> None:
            self._draining = True
            if callable(stop):
                loop.call_soon_threadsafe(
                    loop.call_later, self.settings.drain_seconds, stop, number, frame
                )

        def restore() -> None:
            # None stands for a handler that was not set from Python and cannot be set from it.
            if stop is not None and signal.getsignal(signal.SIGTERM) is drain:
                signal.signal(signal.SIGTERM, stop)

        signal.signal(signal.SIGTERM, drain)
        self._restore_sigterm = restore

    async def _compile(self) -> None:
        started = time.perf_counter()
        try:
            # Slow schedulers run in processes, which load their own.
            await asyncio.to_thread(compile_kernels, ["short", "anytime"])
        except Exception:
            logger.exception("the kernels could not be compiled; the service will not be ready")
            return
        self._compiled = True
        logger.debug("kernels ready after %.1f s", time.perf_counter() - started)
