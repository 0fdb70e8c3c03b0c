"""Processes for slow solves: each runs one solve at a time and can be killed.

They are forked from a server process that has the kernels loaded (:mod:`app.preload`). It starts
and ends with the service. A new worker takes milliseconds, and one that was killed or died is
replaced when the next solve needs it.
"""

import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from typing import Generic, TypeVar, cast

from app.execution.host import NICENESS, when_parent_ends
from app.scheduling import DeadlineExceededError

Outcome = TypeVar("Outcome")

PATIENCE_SECONDS = 1.0
"""How long an idle process may take to confirm that it is alive."""


class WorkerDiedError(Exception):
    """The process died in the middle of a solve, or could not be started."""


class Workers:
    """A pool of idle processes, as many as solves have run at once.

    Parameters
    ----------
    on_loss
        Called when a process was killed or died and has to be replaced.
    """

    def __init__(self, on_loss: Callable[[], None] = lambda: None) -> None:
        self._on_loss = on_loss
        self._idle: list[_Worker] = []
        self._closed = False
        self._lock = threading.Lock()

    def start(self) -> None:
        """Start one process, so that the first solve need not wait for it.

        Raises
        ------
        WorkerDiedError
            No process could be started.
        """
        self.give_back(self.take())

    def take(self) -> "_Worker":
        """Return an idle process, or a new one if there is none.

        Raises
        ------
        WorkerDiedError
            No process could be started.
        """
        while True:
            with self._lock:
                worker = self._idle.pop() if self._idle else None
            if worker is None:
                return _Worker()
            if worker.answers():
                return worker
            self.discard(worker)

    def discard(self, worker: "_Worker") -> None:
        """Kill ``worker``; it is replaced when another is needed."""
        worker.end()
        self._on_loss()

    def give_back(self, worker: "_Worker") -> None:
        """Return ``worker`` to the pool."""
        with self._lock:
            if not self._closed:
                self._idle.append(worker)
                return
        worker.end()

    def close(self) -> None:
        """Kill the idle processes now, and the busy ones when they are given back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.end()


class Job(Generic[Outcome]):
    """One solve in a process of ``workers``.

    Parameters
    ----------
    call
        What to run there; it and its result or exception are pickled.
    """

    def __init__(self, workers: Workers, call: Callable[[], Outcome]) -> None:
        self._workers = workers
        self._call = call
        self._lock = threading.Lock()
        self._worker: _Worker | None = None
        self._ended = False

    def run(self) -> Outcome:
        """Run it and wait for the result.

        Raises
        ------
        DeadlineExceededError
            It was ended before it began.
        WorkerDiedError
            The process died, or was killed by :meth:`end`.
        """
        worker = self._workers.take()
        with self._lock:
            self._worker = None if self._ended else worker
        if self._worker is None:
            self._workers.give_back(worker)
            raise DeadlineExceededError
        died = False
        try:
            return worker.run(self._call)
        except WorkerDiedError:
            died = True
            raise
        finally:
            with self._lock:
                self._worker = None
            if died or self._ended:
                self._workers.discard(worker)
            else:
                self._workers.give_back(worker)

    def end(self) -> None:
        """Kill it with its process, if it has one yet; it may have finished already."""
        with self._lock:
            self._ended = True
            if self._worker is not None:
                self._worker.kill()


class _Worker:
    """A solver process, seen from the service."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["app.preload"])
        self._connection, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(theirs,), name="airsched-solver", daemon=True
        )
        try:
            self._process.start()
        except (EOFError, OSError) as error:
            raise WorkerDiedError("a solver process could not be started") from error
        finally:
            theirs.close()

    def answers(self) -> bool:
        """Return whether it is alive: a process killed while idle may take a while to exit."""
        try:
            return self._exchange(None, PATIENCE_SECONDS) is None
        except WorkerDiedError:
            return False

    def run(self, call: Callable[[], Outcome]) -> Outcome:
        outcome = self._exchange(call, None)
        if isinstance(outcome, BaseException):
            raise outcome
        return cast(Outcome, outcome)

    def _exchange(self, call: Callable[[], object] | None, seconds: float | None) -> object:
        try:
            self._connection.send(call)
            # Also wait for its exit: a dying process may not close its end at once.
            wait([self._connection, self._process.sentinel], seconds)
            if not self._connection.poll():
                raise WorkerDiedError
            return self._connection.recv()
        except (EOFError, OSError):
            raise WorkerDiedError from None

    def kill(self) -> None:
        """Kill the process, whatever it is doing."""
        self._process.kill()

    def end(self) -> None:
        """Kill the process and release its resources."""
        self._process.kill()
        self._process.join()
        self._process.close()
        self._connection.close()


def _serve(connection: Connection) -> None:
    """Run calls in the solver process until the service is gone."""
    os.nice(NICENESS)
    # Ctrl-C in a terminal reaches the whole group; the service decides when this process ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Even in the middle of a solve.
    when_parent_ends(lambda: os._exit(1))
    while True:
        try:
            call = connection.recv()
        except (EOFError, OSError):
            return
        outcome: object
        try:
            outcome = None if call is None else call()
        except Exception as error:
            error.add_note(f"in a solver process:\n{traceback.format_exc()}")
            outcome = error
        connection.send(outcome)
