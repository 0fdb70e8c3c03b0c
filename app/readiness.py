"""When the service may be asked, and for what: it starts before all kernels are compiled."""

import asyncio
import time
from collections.abc import Callable, Collection, Sequence

from app.compilation import POLL_SECONDS, Compilers, missing
from app.execution.host import NICENESS
from app.kernel_parts import DEFAULT, FIRST, PARTS, Part
from app.logs import logger


class NotReadyError(Exception):
    """The service is starting or stopping; the message says which."""


class CompilingError(Exception):
    """What a request needs is not compiled yet; the message says what, and how far it is."""


class Readiness:
    """What can be used by now.

    The service is ready when the default algorithm can be used, and everything has been loaded if
    all was compiled before. What has to be compiled now follows, most wanted first.

    Parameters
    ----------
    start_solvers
        Starts the first solver process. Its server loads the kernels of all slow algorithms.
    """

    def __init__(self, start_solvers: Callable[[], None]) -> None:
        self._start_solvers = start_solvers
        self._waiting = {part.name: part for part in PARTS}
        self._ready = self._closing = self._is_cold = False
        self._started = time.monotonic()

    def require_ready(self) -> None:
        """Raise :class:`NotReadyError` until the default algorithm can be used."""
        if not self._ready:
            raise NotReadyError(
                f"The kernels are being compiled and the solvers started, {DEFAULT} first"
            )

    def require_compiled(self, names: Collection[str]) -> None:
        """Raise :class:`CompilingError` if a part of the kernels with one of these names is not."""
        if self._waiting and (wanted := sorted(self._waiting.keys() & names)):
            done = len(PARTS) - len(self._waiting)
            raise CompilingError(
                f"{' and '.join(wanted)}: not compiled yet, which happens once on a machine "
                f"({done} of {len(PARTS)} parts are done). {DEFAULT} can be used now"
            )

    async def run(self) -> None:
        """Load the kernels, and have those compiled that are not; errors are logged."""
        self._started = time.monotonic()
        try:
            with Compilers(NICENESS) as compilers:
                await self._load_as_they_come(compilers)
        except Exception:
            logger.exception("the service could not get ready")

    def close(self) -> None:
        """Let :meth:`run` end soon."""
        self._closing = True

    async def _load_as_they_come(self, compilers: Compilers) -> None:
        if absent := missing():
            self._is_cold = True
            text = "compiling %d of %d parts of the kernels, once on this machine; %s comes first"
            logger.info(text, len(absent), len(PARTS), DEFAULT)
        while self._waiting and not self._closing:
            absent = missing()
            # What nobody compiles is compiled here, by its first use.
            coming = set(absent if compilers.at_work(absent) else ())
            waiting = list(self._waiting.values())
            here = [part for part in waiting if part not in coming and part.pace != "slow"]
            slow = [part for part in waiting if part.pace == "slow"]
            if any(part.pace in (None, "slow") for part in coming):
                slow = []
            await asyncio.gather(self._load(here), self._load_slow(slow))
            self._ready = self._waiting.keys().isdisjoint(FIRST)
            if self._waiting:
                await asyncio.sleep(POLL_SECONDS)

    async def _load(self, parts: Sequence[Part]) -> None:
        for part in parts:
            if self._closing:
                return
            await asyncio.to_thread(part.use)
            self._done([part])

    async def _load_slow(self, parts: Sequence[Part]) -> None:
        if parts:
            await asyncio.to_thread(self._start_solvers)
            self._done(parts)

    def _done(self, parts: Sequence[Part]) -> None:
        for part in parts:
            del self._waiting[part.name]
        if self._is_cold:
            self._ready = self._waiting.keys().isdisjoint(FIRST)
        done, seconds = len(PARTS) - len(self._waiting), time.monotonic() - self._started
        log = logger.info if self._is_cold else logger.debug
        names = ", ".join(part.name for part in parts)
        log(
            "%d of %d parts of the kernels ready after %.1f s: %s", done, len(PARTS), seconds, names
        )
