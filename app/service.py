"""What one process of the service holds: settings, limits, the executor, readiness."""

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import TypeVar

from app import metrics
from app.admission import ConcurrencyLimitError, MemoryLimitError, Shares, Turns
from app.execution.executor import Executor
from app.execution.host import lower_thread_priority, when_parent_ends
from app.scheduling import solve
from app.scheduling.plain import EXAMPLE
from app.settings import Settings
from app.warmup import NotReadyError, Readiness

Outcome = TypeVar("Outcome")


class Service:
    """The state behind the routes; it remembers nothing of a request."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.limits: Mapping[str, int] = {
            "antennas": settings.max_antennas,
            "devices": settings.max_devices,
            "elements": settings.max_elements,
            "rounds": settings.max_batch,
            "batch_devices": settings.max_batch_devices,
        }
        self.executor = Executor(settings.solver_workers, settings.queue_length)
        self.in_progress = Shares(
            settings.max_concurrency,
            settings.client_share,
            ConcurrencyLimitError,
            metrics.IN_PROGRESS.set,
        )
        self.memory = Shares(
            settings.max_bytes_in_flight,
            settings.client_share,
            MemoryLimitError,
            metrics.BYTES_IN_FLIGHT.set,
        )
        self.turns = Turns()
        # One at a time: decoding holds the interpreter lock, and takes memory beside the body.
        self._thread = ThreadPoolExecutor(1, "decode", lower_thread_priority)
        self.readiness = Readiness(self.executor.start)
        self._starting: asyncio.Task[None] | None = None
        self._draining = False
        self._restore_sigterm: Callable[[], None] = lambda: None

    def start(self) -> None:
        """Load the kernels in the background; the process is live at once, ready later."""
        self._starting = asyncio.create_task(self.readiness.run())
        if threading.current_thread() is threading.main_thread():
            self._drain_at_sigterm()
        # A worker whose supervisor was killed would keep the port, unsupervised.
        when_parent_ends(lambda: os.kill(os.getpid(), signal.SIGTERM))

    async def close(self) -> None:
        """Wait for what is running, and leave signals as they were."""
        self._restore_sigterm()
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait([self._starting])
        await asyncio.to_thread(self.executor.close)
        self._thread.shutdown(cancel_futures=True)

    def check(self) -> None:
        """Solve a small problem, unless the service should get no more requests."""
        if self._draining:
            raise NotReadyError("The service is being stopped")
        self.readiness.require_ready()
        solve(EXAMPLE)

    async def run_in_thread(self, work: Callable[..., Outcome], *arguments: object) -> Outcome:
        """Do what takes long in a thread, and let the event loop go on."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, work, *arguments)

    def _drain_at_sigterm(self) -> None:
        """At SIGTERM, first say that no more requests are wanted, and stop a little later.

        A load balancer needs that time to notice. The server's own handler comes then: it takes no
        more connections, and ends when the requests in flight are answered.
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
