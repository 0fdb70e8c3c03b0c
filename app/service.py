"""What one process of the service holds: settings, limits, the executor, readiness."""

import asyncio
import logging
import time
from collections.abc import Mapping

import numpy as np

from app.execution import Executor
from app.scheduling import Context, IrsProblem, Problem, schedulers_of, solve
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
            "elements": settings.max_elements,
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
        solve(_SMALL)

    async def _compile(self) -> None:
        started = time.perf_counter()
        try:
            await asyncio.to_thread(compile_kernels)
        except Exception:
            logger.exception("the kernels could not be compiled; the service will not be ready")
            return
        self._ready = True
        logger.debug("kernels ready after %.1f s", time.perf_counter() - started)


_SMALL = Problem(np.array([[1.0, 0.2j], [0.3, 1.0]]), np.ones(2), gamma=1.0)
_SMALL_IRS = IrsProblem(
    _SMALL.channels, _SMALL.channels, _SMALL.channels, _SMALL.weights, gamma=1.0
)


def compile_kernels() -> None:
    """Compile every scheduler's kernels, or load them from the cache, by using them once."""
    start = Context(warm_start=np.ones(2, np.complex128))
    for problem in (_SMALL, _SMALL_IRS):
        for scheduler in schedulers_of(problem).values():
            for parameters in scheduler.variants():
                solve(problem, scheduler.name, parameters, start, coordination="mmse", polish=True)


# python -m app.service, for set-up and image builds: compile now, so that no start has to.
if __name__ == "__main__":
    compile_kernels()
