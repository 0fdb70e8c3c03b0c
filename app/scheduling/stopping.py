"""Stop flags that set themselves: searches in compiled code look at them, not at a clock."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import TIMEOUT_MAX, Timer

import numpy as np

from app.scheduling.types import MaskArray

NEVER = np.zeros(1, np.bool_)
"""The flag of a search that nothing stops."""


@contextmanager
def flag_after(seconds: float) -> Iterator[MaskArray]:
    """Provide a (1,) mask that becomes true after ``seconds``."""
    flag = np.zeros(1, np.bool_)
    timer = Timer(min(max(seconds, 0.0), TIMEOUT_MAX), flag.fill, [True])
    timer.daemon = True
    timer.start()
    try:
        yield flag
    finally:
        timer.cancel()
