"""The kernels before the first request: what there is to compile, compiling it, and what is ready.

Kernels are compiled in parts by using them once, or loaded from the cache on disk. A service whose
cache lacks some has child processes compile them, the default algorithm first, and loads each part
when it is there. ``python -m app.warmup`` fills the cache for set-up and image builds.
"""

import asyncio
import fcntl
import gc
import logging
import multiprocessing
import os
import signal
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from functools import partial
from multiprocessing.connection import Connection
from typing import Any, NamedTuple, get_args

import numpy as np

from app.execution.host import NICENESS, available_cores, when_parent_ends
from app.scheduling import AnyProblem, SolveSpec
from app.scheduling.bounding import prove
from app.scheduling.frontier import find_frontier
from app.scheduling.kernels.compile import CACHE, lock_path, remove_superseded
from app.scheduling.plain import EXAMPLE
from app.scheduling.registry import KINDS, SCHEDULERS, kind_with, schedulers_of
from app.scheduling.scheduler import Context, Pace, Scheduler
from app.scheduling.solver import solve_specified

DEFAULT, BOUND, FRONTIER = "matching_pursuit", "bound", "frontier"
FIRST = (DEFAULT, "all_devices")
"""What the default algorithm needs: its search, and what every schedule goes through."""
STAMP = "parts"
"""Name of the file in the cache that lists the parts in it."""
RETRY_SECONDS = 5.0

logger = logging.getLogger("airsched")


class NotReadyError(Exception):
    """The service is starting or stopping; the message says which."""


class CompilingError(Exception):
    """What a request needs is not compiled yet; the message says what, and how far it is."""


class Part(NamedTuple):
    """Kernels that are compiled together; solver processes load those of a slow pace."""

    name: str
    warm_up: Callable[[], object]
    pace: Pace | None = None


def _parts() -> Iterator[Part]:
    for kind in KINDS.values():
        for scheduler in schedulers_of(kind.example).values():
            use = partial(_use, kind.example, scheduler)
            yield Part(_name_of(scheduler), use, scheduler.pace)
    # With nothing known, so that it has to search.
    yield Part(BOUND, lambda: prove(EXAMPLE, 0, np.zeros(1, np.bool_)))
    search = SCHEDULERS["dual_pursuit"]
    spec = SolveSpec(search, search.parameters())
    yield Part(FRONTIER, lambda: find_frontier(EXAMPLE, spec), search.pace)


def _use(problem: AnyProblem, scheduler: Scheduler) -> None:
    start = np.ones(problem.receiver_shape, np.complex128)
    for parameters in scheduler.variants():
        if scheduler is SCHEDULERS[DEFAULT]:
            # Its search alone: the rest is compiled at the same time.
            scheduler.select(problem, parameters, Context(warm_start=start))
        else:
            spec = SolveSpec(scheduler, parameters, 0, start, "mmse", polish=True)
            solve_specified(problem, spec)


def _name_of(scheduler: Scheduler) -> str:
    """Return the algorithm's name, with the kind of its problems in front unless that is plain."""
    return f"{kind_with(scheduler).name}/{scheduler.name}".lstrip("/")


PARTS = {part.name: part for part in sorted(_parts(), key=lambda part: part.name not in FIRST)}
"""Every part by its name, in the order in which they are compiled."""


def required_parts(spec: SolveSpec) -> set[str]:
    """Return the names of the parts that a solve as ``spec`` says needs beside :data:`FIRST`."""
    return {_name_of(spec.scheduler)} | ({BOUND} if spec.bound else set())


def warm_up(*paces: Pace) -> None:
    """Compile in this process, or load from the cache, what schedulers of these paces use."""
    for part in PARTS.values():
        if part.pace is None or part.pace in (paces or get_args(Pace)):
            part.warm_up()


def uncached_parts() -> list[str]:
    """Return the names of the parts that are not known to be in the cache."""
    stamp = CACHE and CACHE / STAMP
    cached = stamp.read_text().split() if stamp and stamp.exists() else []
    return [name for name in PARTS if name not in cached]


async def compile_uncached(niceness: int = 0) -> AsyncGenerator[str, None]:
    """Compile what is not in the cache, in child processes; yield the name of each finished part.

    Children wait while those of another process compile, and then load what these have written.
    """
    left = uncached_parts()
    # The other parts use much of the first, and no two processes are to compile the same.
    for names in ([n for n in left if n in FIRST], [n for n in left if n not in FIRST]):
        # Not forked, so that they inherit neither sockets nor locks.
        context = multiprocessing.get_context("spawn")
        (finished, report), (todo, feed) = context.Pipe(duplex=False), context.Pipe(duplex=False)
        # A connection, because children can be handed those, but not a plain file descriptor.
        lock = Connection(os.open(lock_path(), os.O_RDWR | os.O_CREAT, 0o666))
        with lock, report, todo, feed:
            # One byte for each part: a child takes a part by reading its byte.
            os.write(feed.fileno(), bytes(range(len(names))))
            work = (names, todo, report, lock, niceness)
            cores = range(min(available_cores(), len(names)))
            children = [context.Process(target=_compile, args=work, daemon=True) for _ in cores]
            for child in children:
                child.start()
        try:
            for _ in names:
                yield await asyncio.to_thread(finished.recv)
        except EOFError:
            raise RuntimeError("a process that compiled kernels ended early") from None
        finally:
            for child in children:
                child.kill()
                child.join()
    if CACHE and left:
        (CACHE / STAMP).write_text("\n".join(PARTS))
        remove_superseded()


def _compile(names: list[str], todo: Any, report: Any, lock: Any, niceness: int) -> None:
    os.nice(niceness)
    # Ctrl-C in a terminal reaches the whole group; the parent decides when this process ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    when_parent_ends(lambda: os._exit(1))
    # All children of one parent have the same open file, and so the same lock, until the last ends.
    fcntl.flock(lock.fileno(), fcntl.LOCK_EX)
    while place := os.read(todo.fileno(), 1):
        PARTS[names[place[0]]].warm_up()
        report.send(names[place[0]])


class Readiness:
    """What can be used by now: all, or if the cache lacks some, the default algorithm first.

    ``start_solvers`` starts the first solver process, whose server loads all slow algorithms.
    """

    def __init__(self, start_solvers: Callable[[], None]) -> None:
        self._start_solvers = start_solvers
        self._waiting = set(PARTS)
        self._ready = False

    def require_ready(self) -> None:
        """Raise :class:`NotReadyError` until the default algorithm can be used."""
        if not self._ready:
            raise NotReadyError(f"The kernels and solvers are being prepared, {DEFAULT} first")

    def require_compiled(self, spec: SolveSpec, *others: str) -> None:
        """Raise :class:`CompilingError` if a part that ``spec`` needs, or another, is not."""
        if self._waiting and (wanted := sorted(self._waiting & {*required_parts(spec), *others})):
            done = len(PARTS) - len(self._waiting)
            raise CompilingError(
                f"{' and '.join(wanted)}: still being compiled, which happens once per machine "
                f"({done} of {len(PARTS)} parts are done). {DEFAULT} can be used now"
            )

    async def run(self) -> None:
        """Load the kernels, and have those compiled that are not; try again after an error."""
        while self._waiting:
            try:
                if CACHE and uncached_parts():
                    async with aclosing(compile_uncached(NICENESS)) as finished:
                        async for name in finished:
                            await self._load(name)
                            self._ready = self._waiting.isdisjoint(FIRST)
                            logger.info("%s compiled, %d parts to go", name, len(self._waiting))
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(asyncio.to_thread(self._start_solvers))
                    for name in PARTS:
                        await self._load(name)
                self._waiting.clear()
                # All this stays: freezing it saves every full garbage collection 0.1 s.
                gc.collect()
                gc.freeze()
                self._ready = True
            except Exception:
                logger.exception("not everything is ready; next try in %g s", RETRY_SECONDS)
                await asyncio.sleep(RETRY_SECONDS)
        logger.info("all kernels are loaded")

    async def _load(self, name: str) -> None:
        if name in self._waiting and PARTS[name].pace != "slow":
            await asyncio.to_thread(PARTS[name].warm_up)
            self._waiting.remove(name)


async def main() -> None:
    """Compile what is not in the cache, and say how far that is."""
    started, left = time.monotonic(), uncached_parts()
    async for name in compile_uncached():
        left.remove(name)
        done, seconds = len(PARTS) - len(left), time.monotonic() - started
        print(f"compiled {done} of {len(PARTS)} after {seconds:.0f} s: {name}", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
