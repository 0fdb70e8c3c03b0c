"""How many cores this process may use: the machine's, its affinity's, and its container's."""

import math
import os
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")


def available_cores(cgroups: Path | None = None) -> int:
    """Return the cores that this process may use at once, at least one.

    A container's limit is a share of time, not a set of cores, so the operating system's own count
    ignores it. A limit of 1.5 counts as two.
    """
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return max(1, math.ceil(min(cores, _limit(cgroups or CGROUPS))))


def _limit(cgroups: Path) -> float:
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
