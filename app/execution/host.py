"""The machine and the processes around this one: usable cores, priorities, the parent."""

import math
import multiprocessing
import os
import resource
import sys
import threading
from collections.abc import Callable
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")

NICENESS = 10
"""Niceness of everything that solves outside the event loop: the event loop has priority."""


def available_cores(cgroups: Path | None = None) -> int:
    """Return the cores that this process may use at once, at least one.

    A container's limit is a share of time, not a set of cores, so the operating system's own count
    ignores it. A limit of 1.5 counts as two.
    """
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return max(1, math.ceil(min(cores, _container_limit(cgroups or CGROUPS))))


def _container_limit(cgroups: Path) -> float:
    """Return the container's CPU limit in cores, infinite without one (cgroup v2, then v1)."""
    try:
        if (unified := cgroups / "cpu.max").exists():
            quota, period = unified.read_text().split()
        else:
            quota = (cgroups / "cpu/cpu.cfs_quota_us").read_text()
            period = (cgroups / "cpu/cpu.cfs_period_us").read_text()
        # No limit is "max" in v2, and a negative number in v1.
        return int(quota) / int(period) if int(quota) > 0 else math.inf
    except (OSError, ValueError, ZeroDivisionError):
        return math.inf


def allow_open_files(wanted: int) -> int:
    """Let this process open ``wanted`` files, or as many as it may; return how many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return limit


def lower_thread_priority() -> None:
    """Give the event loop priority over this thread; only Linux can do that thread by thread.

    Not for threads that start processes: those would inherit it, and their server as well.
    """
    if sys.platform == "linux":
        thread = threading.get_native_id()
        # On top of the service's own niceness: only a privileged process may lower it.
        niceness = os.getpriority(os.PRIO_PROCESS, thread) + NICENESS
        os.setpriority(os.PRIO_PROCESS, thread, min(niceness, 19))


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

    threading.Thread(target=watch, name="watch-parent", daemon=True).start()
