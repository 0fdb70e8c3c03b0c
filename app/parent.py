"""Ends a process with the one that started it."""

import multiprocessing
import threading
from collections.abc import Callable


def when_parent_ends(act: Callable[[], None]) -> None:
    """Call ``act`` in a thread when the process that started this one by multiprocessing is gone.

    A killed parent cannot tell its children to end.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        act()

    threading.Thread(target=watch, name="parent", daemon=True).start()
