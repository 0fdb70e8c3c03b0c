"""An event loop that skips every wait: delays are exact, take no time, and no load changes them."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

Outcome = TypeVar("Outcome")


class _Selector(selectors.DefaultSelector):
    """Passes the time that it would wait for, without waiting."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if timeout is None and not ready:
            raise RuntimeError("nothing is left that could happen")
        self.now += timeout or 0.0
        return ready


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now


def run(main: Coroutine[Any, Any, Outcome]) -> Outcome:
    """Run a coroutine, as :func:`asyncio.run` does; nothing outside may be waited for."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(main)
