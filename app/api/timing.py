"""How long the parts of an answer took, for the ``Server-Timing`` header."""

from time import perf_counter


class Timing:
    """Splits the time of one request: each :meth:`mark` names the stretch that begins."""

    __slots__ = ("_done", "_name", "_since")

    def __init__(self, first: str) -> None:
        self._done = ""
        self._name = first
        self._since = perf_counter()

    def mark(self, name: str) -> float:
        """End the running stretch, return its seconds, and begin ``name``."""
        now = perf_counter()
        seconds = now - self._since
        self._done += f"{self._name};dur={seconds * 1e3:.3f}, "
        self._name, self._since = name, now
        return seconds

    def __str__(self) -> str:
        """Return the header's value, in milliseconds."""
        return f"{self._done}{self._name};dur={(perf_counter() - self._since) * 1e3:.3f}"
