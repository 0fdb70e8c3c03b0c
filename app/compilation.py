"""Compiles the kernels ahead of the first request, on all cores, into numba's cache on disk.

``python -m app.compilation`` does it for set-up and image builds; a service whose kernels are not
all in the cache does the same while it runs. Whichever process comes first compiles, in processes
of its own; others wait for what it writes.
"""

import fcntl
import multiprocessing
import os
import platform
import signal
import sys
import time
from collections.abc import Collection, Sequence
from functools import cache
from hashlib import sha256
from multiprocessing.process import BaseProcess
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO, get_args

import numba
from llvmlite import binding

from app.execution.host import available_cores, when_parent_ends
from app.kernel_parts import FIRST, PARTS, Part
from app.scheduling import Pace
from app.scheduling.kernels import formulas

POLL_SECONDS = 0.1


def compile_kernels(paces: Collection[Pace] = get_args(Pace)) -> None:
    """Compile in this process, or load from the cache, what schedulers of these paces use."""
    for part in PARTS:
        if part.pace is None or part.pace in paces:
            part.use()


def missing() -> list[Part]:
    """Return the parts that are not in the cache on disk, or may not be up to date there."""
    return [part for part in PARTS if not _is_stamped(part)]


class Compilers:
    """Processes that compile what is missing, unless another process has such already.

    Use it as a context manager, so that they end with it.

    Parameters
    ----------
    niceness
        Added to theirs.
    """

    def __init__(self, niceness: int = 0) -> None:
        self._niceness = niceness
        self._lock: TextIO | None = None
        self._processes: list[BaseProcess] = []

    def at_work(self, parts: Sequence[Part]) -> bool:
        """Return whether ``parts``, missing, will still come; start to compile if nobody does."""
        if self._lock is None and parts and (folder := _folder()) is not None:
            try:
                self._lock = _locked(folder / "compiling.lock")
            except BlockingIOError:
                return True
            except OSError:
                # A folder that cannot be written.
                return False
            self._start([part.name for part in parts])
        if any(process.exitcode for process in self._processes):
            # One failed, and said why; the others might wait for what it was to compile.
            self._end()
        return any(process.is_alive() for process in self._processes)

    def _start(self, names: list[str]) -> None:
        # Not forked, so that they inherit neither sockets nor locks; nor by the server that forks
        # solver processes, which comes with their kernels.
        context = multiprocessing.get_context("spawn")
        # Kept, because the processes find it by its name as long as it is there.
        self._taken = context.Value("i", 0)
        for _ in range(min(available_cores(), len(names))):
            process = context.Process(
                target=_compile, args=(names, self._taken, self._niceness), name="airsched-compiler"
            )
            process.start()
            self._processes.append(process)

    def __enter__(self) -> Self:
        """Start nothing yet."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Kill the processes that are still at work."""
        self._end()
        if self._lock is not None:
            self._lock.close()

    def _end(self) -> None:
        for process in self._processes:
            process.kill()
            process.join()


def _compile(names: list[str], taken: "Synchronized[int]", niceness: int) -> None:
    """Compile one part after the other, in a process of its own."""
    os.nice(niceness)
    # Ctrl-C in a terminal reaches the whole group; whoever started this process ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    when_parent_ends(lambda: os._exit(1))
    parts = {part.name: part for part in PARTS}
    while True:
        with taken.get_lock():
            place, taken.value = taken.value, taken.value + 1
        if place >= len(names):
            return
        part = parts[names[place]]
        if part.name not in FIRST:
            _wait_for_first()
        part.use()
        _stamp(part)


def _wait_for_first() -> None:
    while any(part.name in FIRST for part in missing()):
        time.sleep(POLL_SECONDS)


def _locked(path: Path) -> TextIO:
    """Open ``path`` for this process alone, until it is closed or the process ends."""
    file = path.open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise
    return file


def _folder() -> Path | None:
    """Return where numba keeps the kernels; None if it cannot."""
    kernel: Any = formulas.coordinate
    path = kernel.stats.cache_path
    return Path(path) if path else None


def _stamp(part: Part) -> None:
    """Note that ``part`` is in the cache."""
    if (path := _stamp_of(part)) is not None:
        new = path.with_suffix(f".{os.getpid()}")
        new.write_text(_version())
        new.replace(path)


def _is_stamped(part: Part) -> bool:
    path = _stamp_of(part)
    try:
        return path is not None and path.read_text() == _version()
    except OSError:
        return False


def _stamp_of(part: Part) -> Path | None:
    # Named as numba's own index files, so that whoever removes those removes it as well.
    folder = _folder()
    return None if folder is None else folder / f"part-{part.name.replace('/', '-')}.nbi"


@cache
def _version() -> str:
    """Return what decides which kernels there are: the code, numba and the processor."""
    here = Path(__file__).parent
    sources = [here / "kernel_parts.py", *sorted((here / "scheduling").rglob("*.py"))]
    environment = (
        platform.python_version(),
        numba.__version__,
        numba.config.CPU_NAME or binding.get_host_cpu_name(),
        numba.config.CPU_FEATURES or binding.get_host_cpu_features().flatten(),
    )
    code = b"".join(path.read_bytes() for path in sources)
    return sha256(code + repr(environment).encode()).hexdigest()


def main() -> None:
    """Compile what is missing, and say how far that is."""
    if _folder() is None:
        sys.exit("the kernels cannot be kept: numba found no folder that it can write to")
    started = time.monotonic()
    done = len(PARTS) - len(left := missing())
    if left:
        print(f"compiling the kernels on {available_cores()} cores", flush=True)
    with Compilers() as compilers:
        while left:
            time.sleep(POLL_SECONDS)
            at_work, before, left = compilers.at_work(left), left, missing()
            for part in before:
                if part not in left:
                    done += 1
                    seconds = time.monotonic() - started
                    print(
                        f"compiled {done} of {len(PARTS)} after {seconds:.0f} s: {part.name}",
                        flush=True,
                    )
            if left and not at_work:
                # A process failed, and said why.
                sys.exit(f"not compiled: {', '.join(part.name for part in left)}")


if __name__ == "__main__":
    main()
