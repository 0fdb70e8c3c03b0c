"""Looks at processes from outside, through /proc."""

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
