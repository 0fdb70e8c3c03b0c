"""Where a solve runs, with a deadline: here and now, in a thread, or in a separate process.

- Short solves run on the event loop, without a hop to a thread and back: those that cannot hold it
  for longer than :data:`LOOP_SECONDS`, by the estimate of their scheduler.
- Longer ones that look at their stop flag run in threads: compiled, without the interpreter lock.
- Slow ones run in processes, which are killed at the deadline, and when the client disconnects.
  However slow they are, they hold no thread that others need, and no lock.

Threads and processes each have a short queue that clients share fairly
(:mod:`app.execution.lane`). What it cannot hold is refused at once: waiting adds delay, not
throughput.
"""

from collections.abc import Sequence
from functools import partial

from app import metrics
from app.deadline import Deadline
from app.execution.host import lower_thread_priority
from app.execution.lane import Lane, Work
from app.execution.processes import Job, Workers
from app.scheduling import AnyProblem, Frontier, Schedule, SolveSpec, find_frontier
from app.scheduling.robust import attempts
from app.scheduling.solver import solve_each, solve_until

Problems = Sequence[AnyProblem]

LOOP_SECONDS = 2e-3
"""Default of ``loop_seconds``. The estimate is of the slowest; a usual solve takes a fifth."""


class Executor:
    """Runs solves and keeps their deadlines.

    Parameters
    ----------
    workers
        Number of solves that run at once in threads, and in processes.
    queue_length
        Number of further ones that may wait for each.
    loop_seconds
        How long a solve may hold the event loop.
    """

    def __init__(
        self, workers: int, queue_length: int, *, loop_seconds: float = LOOP_SECONDS
    ) -> None:
        self.loop_seconds = loop_seconds
        self._parts = workers
        self._threads = Lane("thread", workers, queue_length, lower_thread_priority)
        self._processes = Lane("process", workers, queue_length)
        self._workers = Workers(metrics.WORKER_RESTARTS.inc)

    async def solve(
        self, problems: Problems, spec: SolveSpec, deadline: Deadline
    ) -> Sequence[Schedule]:
        """Solve ``problems`` of one size as ``spec`` says, before ``deadline``.

        Many problems are divided among as many threads or processes as one client may use.

        Raises
        ------
        InvalidProblemError
            The problems cannot be solved this way.
        DeadlineExceededError
            There is no answer by then.
        QueueFullError
            The queue is full.
        ClientDisconnectedError
            The client disconnected.
        WorkerDiedError
            The solver process died.
        """
        spec.require_suited(problems[0])
        lane = self._lane(problems, spec)
        if lane is None:
            deadline.require_time()
            schedules = solve_each(problems, spec, deadline.stop)
            deadline.require_time()
            return schedules
        size = -(-len(problems) // self._parts)
        parts = [problems[first : first + size] for first in range(0, len(problems), size)]
        solved = await lane.run([self._work(part, spec, deadline) for part in parts], deadline)
        return [schedule for part in solved for schedule in part]

    async def frontier(
        self, problem: AnyProblem, spec: SolveSpec, min_devices: int, deadline: Deadline
    ) -> Frontier:
        """Find the frontier of ``problem``; arguments and errors are as for :meth:`solve`."""
        spec.require_suited(problem)
        find = partial(find_frontier, problem, spec, deadline.stop, min_devices)
        (found,) = await self._threads.run([Work(find)], deadline)
        return found

    def _lane(self, problems: Problems, spec: SolveSpec) -> Lane | None:
        """Return where ``problems`` of one size are solved; None for here and now."""
        first = problems[0]
        if not spec.polish and not spec.bound:
            size = (first.antennas, first.devices)
            each = spec.scheduler.longest_seconds(spec.parameters, *size)
            each *= attempts(first.devices) if first.uncertain else 1
            if len(problems) * each <= self.loop_seconds:
                return None
        return self._processes if spec.scheduler.pace == "slow" else self._threads

    def _work(
        self, problems: Problems, spec: SolveSpec, deadline: Deadline
    ) -> Work[list[Schedule]]:
        if spec.scheduler.pace == "slow":
            job = Job(self._workers, partial(solve_until, problems, spec, deadline.search_ends))
            return Work(job.run, job.end)
        return Work(partial(solve_each, problems, spec, deadline.stop))

    def start(self) -> None:
        """Start the first solver process; a new service takes seconds for it.

        Raises
        ------
        WorkerDiedError
            No process could be started.
        """
        self._workers.start()

    def close(self) -> None:
        """Take no more work and wait for what is running."""
        self._threads.close()
        self._processes.close()
        self._workers.close()
