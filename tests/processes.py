"""Looks at processes from outside, through /proc."""

import contextlib
import os
from pathlib import Path


def below(process):
    """Return the niceness of the processes below ``process``, at any depth, that have not ended."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == process and fields[0] != "Z":
            found |= {int(entry.name): int(fields[16])} | below(int(entry.name))
    return found


def solvers(process):
    """Return the solver processes below ``process``: they are nicer than all others."""
    own = os.getpriority(os.PRIO_PROCESS, 0)
    return {child for child, nice in below(process).items() if nice > own}


def serving(process):
    """Return the uvicorn workers below ``process``, a supervisor that spawned them."""
    return [child for child in below(process) if "spawn_main" in _command(child)]


def _command(process):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_text()
    return ""
