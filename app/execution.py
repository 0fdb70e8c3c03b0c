"""Where a solve runs: short ones here and now, long ones in a thread, with a deadline.

A hop to a thread and back costs more than a short solve itself, and takes nothing off the event
loop worth having; a long solve would hold up every other request. ``make bench`` measures both
(``benchmarks/execution.py``), and :data:`INLINE_ENTRIES` is set from it.
"""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from app.scheduling import (
    Context,
    DeadlineExceededError,
    IrsProblem,
    Method,
    Parameters,
    Problem,
    Schedule,
    schedulers_of,
    solve,
)

INLINE_ENTRIES = 1000
"""Problems with at most this many channel entries, N·K, are short for a short scheduler."""

GRACE_SECONDS = 0.05
"""How long after the deadline a running solve may take to see that it has passed."""


class OverloadedError(Exception):
    """More work is waiting than the queue takes."""


class Executor:
    """Runs solves and keeps their deadlines.

    Parameters
    ----------
    workers
        Number of long solves that run at once.
    queue_length
        Number of further ones that may wait.
    """

    def __init__(self, workers: int, queue_length: int) -> None:
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="solve")
        self._most_pending = workers + queue_length
        self._pending = 0

    async def solve(
        self,
        problem: Problem | IrsProblem,
        algorithm: str,
        parameters: Parameters,
        context: Context,
        deadline_seconds: float,
        *,
        coordination: Method = "zero_forcing",
        polish: bool = False,
    ) -> Schedule:
        """Solve ``problem`` within ``deadline_seconds`` from now.

        The rest is as for :func:`app.scheduling.solve`; ``context`` is this solve's own.

        Raises
        ------
        DeadlineExceededError
            There is no answer by then.
        OverloadedError
            The queue is full; nothing was done.
        """
        run = partial(
            solve,
            problem,
            algorithm,
            parameters,
            context,
            coordination=coordination,
            polish=polish,
        )
        scheduler = schedulers_of(problem)[algorithm]
        if scheduler.short and problem.entries <= INLINE_ENTRIES and not polish:
            started = time.perf_counter()
            schedule = run()
            if time.perf_counter() - started > deadline_seconds:
                raise DeadlineExceededError
            return schedule
        if self._pending >= self._most_pending:
            raise OverloadedError
        loop = asyncio.get_running_loop()
        self._pending += 1
        work = self._threads.submit(run)
        work.add_done_callback(lambda _: loop.call_soon_threadsafe(self._release))
        answer = asyncio.wrap_future(work)
        try:
            done, _ = await asyncio.wait([answer], timeout=deadline_seconds)
        except asyncio.CancelledError:
            context.stop[0] = True
            work.cancel()
            answer.add_done_callback(_ignore)
            raise
        if not done:
            context.stop[0] = True
            if work.cancel():
                raise DeadlineExceededError
            # It is running, and sees the flag at its next iteration: an anytime search then
            # returns the best it has, any other raises DeadlineExceededError.
            done, _ = await asyncio.wait([answer], timeout=GRACE_SECONDS)
        if not done:
            answer.add_done_callback(_ignore)
            raise DeadlineExceededError
        return await answer

    def _release(self) -> None:
        self._pending -= 1

    def close(self) -> None:
        """Take no more work and wait for what is running."""
        self._threads.shutdown(wait=True, cancel_futures=True)


def _ignore(answer: "asyncio.Future[Schedule]") -> None:
    """Look at the outcome of a solve that nobody waits for any more, so that none is reported."""
    if not answer.cancelled():
        answer.exception()
