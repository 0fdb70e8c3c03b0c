"""Find the processes of a service from outside."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress

import psutil


def terminate(process: subprocess.Popen[bytes], seconds: float) -> str:
    """Ask ``process`` to end, and return how many seconds it took, or that it took longer."""
    started = time.monotonic()
    process.terminate()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        return f"over {seconds:.0f}"
    return f"{time.monotonic() - started:.1f}"


def below(process: int) -> dict[int, int]:
    """Return the niceness of every live descendant of ``process``, by its id."""
    found = {}
    for child in _descendants(process):
        with suppress(psutil.NoSuchProcess):
            if child.status() != psutil.STATUS_ZOMBIE:
                found[child.pid] = int(child.nice())
    return found


def solvers(process: int) -> set[int]:
    """Return the solver processes below ``process``: nicer than all others."""
    own = os.getpriority(os.PRIO_PROCESS, 0)
    return {child for child, nice in below(process).items() if nice > own}


def serving(process: int) -> list[int]:
    """Return the uvicorn workers below ``process``, the supervisor that spawned them."""
    return [child.pid for child in _descendants(process) if "spawn_main" in _command(child)]


def _descendants(process: int) -> Iterator[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        yield from psutil.Process(process).children(recursive=True)


def _command(process: psutil.Process) -> str:
    with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
        return " ".join(process.cmdline())
    return ""
