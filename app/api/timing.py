"""How long the parts of an answer took, for the ``Server-Timing`` header."""

import time


class Timing:
    """Splits the time of one request: each :meth:`mark` names the stretch that begins."""

    def __init__(self, first: str) -> None:
        self._names = [first]
        self._times = [time.perf_counter()]

    def mark(self, name: str) -> None:
        """End the running stretch and begin ``name``."""
        self._names.append(name)
        self._times.append(time.perf_counter())

    def __str__(self) -> str:
        """Return the header's value, in milliseconds."""
        ends = [*self._times[1:], time.perf_counter()]
        return ", ".join(
            f"{name};dur={(end - start) * 1e3:.3f}"
            for name, start, end in zip(self._names, self._times, ends, strict=True)
        )
