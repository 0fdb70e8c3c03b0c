"""Where solves run: deadlines, the bounded queue, and places that are given back."""

import asyncio
import os
import sys
import threading
import time

import httpx
import numpy as np
import pytest

from app.deadline import ClientDisconnectedError, Deadline
from app.execution.executor import Executor
from app.execution.lane import QueueFullError
from app.main import create_app
from app.scheduling import (
    IRS_SCHEDULERS,
    SCHEDULERS,
    DeadlineExceededError,
    IrsProblem,
    Problem,
    SolveSpec,
    solve,
    solve_specified,
)
from app.settings import Settings
from lab.channels import iid_channels
from tests.api.bodies import packed

SMALL = Problem(np.eye(2), np.ones(2), gamma=1.0)
LONG = Problem(iid_channels(np.random.default_rng(50), 8, 150), np.ones(150), gamma=1.0)


def spec_of(algorithm, schedulers=SCHEDULERS, parameters=None, **options):
    scheduler = schedulers[algorithm]
    return SolveSpec(scheduler, scheduler.parameters(**parameters or {}), **options)


SPEC, DUAL = spec_of("matching_pursuit"), spec_of("dual_pursuit")

SOLVE = "app.execution.executor.solve_each"


def each(solve_one):
    """Return what solves the rounds of a request one after the other, with ``solve_one``."""
    return lambda problems, spec, stop: [solve_one(problem, spec, stop) for problem in problems]


@pytest.fixture
def gate(monkeypatch):
    """Hold every solve until the gate opens, or its stop flag is set."""
    gate = threading.Event()

    def held(problem, spec, stop):
        while not gate.wait(0.002):
            if stop[0]:
                raise DeadlineExceededError
        return solve_specified(problem, spec, stop)

    monkeypatch.setattr(SOLVE, each(held))
    return gate


async def run(executor, problem=LONG, seconds=30.0):
    (schedule,) = await executor.solve([problem], SPEC, Deadline(seconds))
    return schedule


@pytest.fixture
def executor():
    executor = Executor(workers=1, queue_length=2)
    yield executor
    executor.close()


def of_size(antennas, devices):
    return Problem(np.ones((antennas, devices)), np.ones(devices), gamma=1.0)


IRS_SMALL = IrsProblem(np.eye(2), np.eye(2), np.eye(2), np.ones(2), gamma=1.0)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("problems", "spec", "inline"),
    [
        ([SMALL], SPEC, True),
        ([of_size(6, 20)], SPEC, True),
        # As many coefficients or fewer, and 1000 times as much work: cubic in the antennas, or
        # quadratic in the devices.
        ([of_size(256, 3)], SPEC, False),
        ([of_size(1, 1000)], SPEC, False),
        ([of_size(8, 50)], SPEC, True),
        ([of_size(8, 50)] * 2, SPEC, True),
        ([of_size(8, 50)] * 20, SPEC, False),
        # Polishing takes much longer than a short scheduler does.
        ([SMALL], spec_of("matching_pursuit", polish=True), False),
        ([SMALL], spec_of("matching_pursuit", bound=True), False),
        ([of_size(6, 20)], DUAL, True),
        ([of_size(6, 20)], spec_of("dual_pursuit", parameters={"starts": 100}), False),
        ([of_size(16, 100)], DUAL, False),
        ([of_size(6, 20)], spec_of("all_devices"), True),
        ([SMALL], spec_of("optimal"), False),
        ([IRS_SMALL], spec_of("matching_pursuit", IRS_SCHEDULERS), False),
    ],
)
async def test_only_short_solves_run_on_the_loop(executor, monkeypatch, problems, spec, inline):
    threads = []

    def remembered(*arguments):
        threads.append(threading.current_thread())
        return solve_specified(*arguments)

    monkeypatch.setattr(SOLVE, each(remembered))
    await executor.solve(problems, spec, Deadline(30.0))
    assert len(threads) == len(problems)
    assert {thread is threading.current_thread() for thread in threads} == {inline}


@pytest.mark.anyio
async def test_beyond_the_queue_nothing_is_accepted_until_a_place_is_free(executor, gate):
    accepted = [asyncio.create_task(run(executor)) for _ in range(3)]
    await asyncio.sleep(0)
    with pytest.raises(QueueFullError):
        await run(executor)
    gate.set()
    schedules = await asyncio.gather(*accepted)
    assert all(schedule.active.size for schedule in schedules)
    await run(executor)


@pytest.mark.anyio
async def test_a_short_queue_stays_short_when_there_are_more_threads(gate):
    """However long they wait: never more than the queue holds."""
    executor = Executor(workers=3, queue_length=1)
    held = [asyncio.create_task(run(executor)) for _ in range(4)]
    await asyncio.sleep(0.2)
    for _ in range(2):
        with pytest.raises(QueueFullError):
            await run(executor)
    gate.set()
    assert len(await asyncio.gather(*held)) == 4
    executor.close()


@pytest.mark.anyio
async def test_deadline_stops_the_running_and_the_waiting(executor, gate):
    tasks = [asyncio.create_task(run(executor, seconds=0.05)) for _ in range(3)]
    results = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 2)
    assert [type(result) for result in results] == [DeadlineExceededError] * 3
    gate.set()
    assert (await run(executor)).active.size


@pytest.mark.anyio
async def test_deadline_is_kept_by_a_solve_that_does_not_look(executor, monkeypatch):
    release = threading.Event()
    monkeypatch.setattr(SOLVE, each(lambda *_: release.wait(10)))
    started = time.perf_counter()
    with pytest.raises(DeadlineExceededError):
        await run(executor, seconds=0.05)
    assert time.perf_counter() - started < 1
    release.set()


@pytest.mark.anyio
async def test_an_anytime_search_answers_at_the_deadline_with_what_it_has(executor, monkeypatch):
    best = solve(SMALL)

    def search(problem, spec, stop):
        while not stop[0]:
            time.sleep(0.002)
        return best

    monkeypatch.setattr(SOLVE, each(search))
    (found,) = await asyncio.wait_for(executor.solve([LONG], DUAL, Deadline(0.05)), 5)
    assert found is best


@pytest.mark.anyio
async def test_cancellation_gives_the_place_back(executor, gate):
    tasks = [asyncio.create_task(run(executor)) for _ in range(3)]
    await asyncio.sleep(0.01)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    gate.set()
    await asyncio.sleep(0.2)  # the thread sees the flag and ends
    schedules = await asyncio.gather(*(run(executor) for _ in range(3)))
    assert len(schedules) == 3


@pytest.mark.anyio
async def test_late_inline_answers_are_refused(executor):
    with pytest.raises(DeadlineExceededError):
        await run(executor, SMALL, seconds=1e-9)


BATCH = [
    Problem(iid_channels(np.random.default_rng(seed), 6, 20), np.ones(20), gamma=1.0)
    for seed in range(11)
]


@pytest.mark.anyio
@pytest.mark.parametrize("algorithm", ["matching_pursuit", "dual_pursuit", "sdr"])
@pytest.mark.parametrize("count", [1, 2, 3, 11])
async def test_a_batch_is_solved_in_order_as_each_alone(algorithm, count):
    executor = Executor(workers=3, queue_length=2)
    found = await executor.solve(BATCH[:count], spec_of(algorithm, seed=3), Deadline(60))
    executor.close()
    assert len(found) == count
    for problem, schedule in zip(BATCH, found, strict=False):
        expected = solve(problem, algorithm, seed=3)
        np.testing.assert_array_equal(schedule.active, expected.active)
        np.testing.assert_array_equal(schedule.receiver, expected.receiver)


@pytest.mark.anyio
async def test_a_batch_is_shared_out_among_the_threads(gate):
    executor = Executor(workers=2, queue_length=2)
    gone = asyncio.Event()
    threads, together = set(), threading.Barrier(2, timeout=30)

    def remembered(*arguments):
        if threading.current_thread() not in threads:
            threads.add(threading.current_thread())
            together.wait()
        return solve_specified(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SOLVE, each(remembered))
        await executor.solve(BATCH[:2], DUAL, Deadline(60))
    assert len(threads) == 2

    # When one part finds no place, none takes one.
    waiting = [asyncio.create_task(run(executor)) for _ in range(3)]
    await asyncio.sleep(0.05)
    with pytest.raises(QueueFullError):
        await executor.solve(BATCH, DUAL, Deadline(60))
    gate.set()
    assert len(await asyncio.gather(*waiting)) == 3

    # When the client goes, all parts end.
    gate.clear()
    held = asyncio.create_task(executor.solve(BATCH, DUAL, Deadline(60, disconnected=gone.wait)))
    await asyncio.sleep(0.05)
    gone.set()
    with pytest.raises(ClientDisconnectedError):
        await asyncio.wait_for(held, 5)
    executor.close()


def niceness():
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


@pytest.mark.skipif(sys.platform != "linux", reason="threads have a niceness only on Linux")
@pytest.mark.parametrize("more", [0, 5, 19])
def test_threads_give_way_to_the_loop(monkeypatch, more):
    """Also where the service was started with a niceness of its own."""
    found = []

    def serve():
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), min(19, niceness() + more))
        executor = Executor(workers=1, queue_length=1)
        asyncio.run(run(executor))
        executor.close()
        found.append(niceness())

    monkeypatch.setattr(SOLVE, each(lambda *_: found.append(niceness())))
    thread = threading.Thread(target=serve)
    thread.start()
    thread.join()
    solving, serving = found
    assert solving == min(19, serving + 10)


@pytest.mark.anyio
async def test_overload_is_503_with_retry_after(gate):
    app = create_app(Settings(solver_workers=1, queue_length=1))
    body = {"channels": packed(LONG.channels), "gamma": 1}
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client,
    ):
        while (await client.get("/health/ready")).status_code != 200:
            await asyncio.sleep(0.01)
        accepted = [asyncio.create_task(client.post("/schedule", json=body)) for _ in range(2)]
        await asyncio.sleep(0.05)
        refused = await client.post("/schedule", json=body)
        assert refused.status_code == 503
        assert refused.headers["retry-after"] == "1"
        assert refused.headers["content-type"] == "application/problem+json"
        gate.set()
        assert [(await task).status_code for task in accepted] == [200, 200]
