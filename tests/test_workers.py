"""Solver processes: killed at the deadline, replaced when they die, gone with the service."""

import asyncio
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from app.deadline import ClientDisconnectedError, Deadline
from app.execution.executor import Executor
from app.execution.processes import Job, WorkerDiedError, Workers
from app.scheduling import SCHEDULERS, DeadlineExceededError, Problem, SolveSpec, solve
from lab import processes
from lab.channels import iid_channels

QUICK = Problem(iid_channels(np.random.default_rng(60), 6, 20), np.ones(20), gamma=0.4)
ENDLESS = Problem(iid_channels(np.random.default_rng(61), 8, 400), np.ones(400), gamma=0.5)
"""DC programming takes minutes on it."""

SPEC = SolveSpec(SCHEDULERS["dc"], SCHEDULERS["dc"].parameters())


def solvers():
    """Return the solver processes of this module."""
    return list(processes.solvers(os.getpid()) - OTHERS)


OTHERS = set()
"""Processes of services that other tests have left running."""


@pytest.fixture(scope="module", autouse=True)
def others():
    OTHERS.update(processes.below(os.getpid()))


def resident_megabytes():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


async def until(condition, seconds=20):
    give_up = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up
        await asyncio.sleep(0.01)


@pytest.fixture
def executor():
    executor = Executor(workers=1, queue_length=2)
    yield executor
    executor.close()
    assert solvers() == []


async def dc(executor, problem=QUICK, seconds=60.0, disconnected=None):
    deadline = Deadline(seconds, disconnected=disconnected)
    (schedule,) = await executor.solve([problem], SPEC, deadline)
    return schedule


@pytest.mark.anyio
async def test_a_process_gives_the_same_schedule_and_waits_for_more(executor):
    expected = solve(QUICK, "dc")
    for _ in range(3):
        schedule = await dc(executor)
        np.testing.assert_array_equal(schedule.active, expected.active)
        np.testing.assert_array_equal(schedule.receiver, expected.receiver)
        assert len(solvers()) == 1


@pytest.mark.anyio
async def test_the_deadline_ends_the_process_a_hundred_times(executor):
    await dc(executor)
    before = resident_megabytes()
    for _ in range(100):
        started = time.perf_counter()
        with pytest.raises(DeadlineExceededError):
            await dc(executor, ENDLESS, seconds=0.05)
        assert time.perf_counter() - started < 1
    await until(lambda: solvers() == [])
    assert resident_megabytes() - before < 20
    assert (await dc(executor)).active.size


@pytest.mark.anyio
async def test_killed_in_mid_solve_is_an_error_and_the_next_one_works(executor):
    task = asyncio.create_task(dc(executor, ENDLESS))
    await until(solvers)
    await asyncio.sleep(0.1)
    os.kill(solvers()[0], signal.SIGKILL)
    with pytest.raises(WorkerDiedError):
        await task
    assert (await dc(executor)).active.size


@pytest.mark.anyio
async def test_killed_while_idle_is_replaced_unseen(executor):
    await dc(executor)
    os.kill(solvers()[0], signal.SIGKILL)
    await until(lambda: solvers() == [])
    assert (await dc(executor)).active.size


@pytest.mark.anyio
async def test_cancelled_and_abandoned_solves_free_their_process(executor):
    async def leaves():
        await asyncio.sleep(0.1)

    for _ in range(2):
        task = asyncio.create_task(dc(executor, ENDLESS))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(ClientDisconnectedError):
            await dc(executor, ENDLESS, disconnected=leaves)
    assert (await asyncio.wait_for(dc(executor), 20)).active.size


@pytest.mark.anyio
async def test_ctrl_c_in_a_terminal_does_not_end_a_solver(executor):
    """It goes to every process of the group; the service decides when a solver ends."""
    await dc(executor)
    (solver,) = solvers()
    os.kill(solver, signal.SIGINT)
    assert (await dc(executor)).active.size
    assert solvers() == [solver]
    task = asyncio.create_task(dc(executor, ENDLESS, seconds=0.6))
    await asyncio.sleep(0.2)
    os.kill(solver, signal.SIGINT)
    with pytest.raises(DeadlineExceededError):
        await task


def test_a_job_ended_before_it_runs_needs_no_process():
    workers = Workers()
    job = Job(workers, print)
    job.end()
    with pytest.raises(DeadlineExceededError):
        job.run()
    workers.close()
    assert solvers() == []


def test_a_process_given_back_after_the_end_is_ended():
    workers = Workers()
    worker = workers.take()
    assert worker.answers()
    assert len(solvers()) == 1
    workers.close()
    workers.give_back(worker)
    assert solvers() == []


def test_errors_of_a_solve_arrive_with_their_origin():
    workers = Workers()
    with pytest.raises(ZeroDivisionError) as raised:
        Job(workers, _fail).run()
    assert "_fail" in "".join(raised.value.__notes__)
    workers.close()


def _fail():
    return 1 // 0


def test_no_process_can_be_started(monkeypatch):
    def refuse(self):
        raise OSError("no more processes")

    monkeypatch.setattr("multiprocessing.process.BaseProcess.start", refuse)
    with pytest.raises(WorkerDiedError):
        Job(Workers(), print).run()
