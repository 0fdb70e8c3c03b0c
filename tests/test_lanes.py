"""The queue before the threads: bounded, and shared fairly among clients."""

import asyncio
import threading

import pytest

from app.lanes import AbandonedError, Lane, QueueFullError, Work
from app.scheduling import DeadlineExceededError


class Solves:
    """Solves that end when told to, and remember in which order they began."""

    def __init__(self, lane):
        self._lane = lane
        self.begun = []
        self._ends = {}
        self._lock = threading.Lock()

    def ask(self, client, name, seconds=30.0, **options):
        end = self._ends[name] = threading.Event()

        def run():
            with self._lock:
                self.begun.append(name)
            assert end.wait(30)
            return name

        work = Work(client, run, end.set)
        return asyncio.create_task(self._lane.run(work, seconds, **options))

    def end(self, name):
        self._ends[name].set()

    def end_all(self):
        for end in self._ends.values():
            end.set()

    async def until_begun(self, *names):
        async with asyncio.timeout(20):
            while not set(names) <= set(self.begun):
                await asyncio.sleep(0.005)


@pytest.fixture
async def solves():
    lane = Lane("thread", workers=2, queue_length=3)
    solves = Solves(lane)
    yield solves
    solves.end_all()
    await asyncio.to_thread(lane.close)


pytestmark = pytest.mark.anyio


async def test_a_client_alone_runs_as_many_as_there_are_workers(solves):
    tasks = [solves.ask("heavy", number) for number in range(5)]
    await solves.until_begun(0, 1)
    await asyncio.sleep(0.05)
    assert sorted(solves.begun) == [0, 1]
    with pytest.raises(QueueFullError):
        await solves.ask("heavy", 5)
    solves.end_all()
    assert await asyncio.gather(*tasks) == [0, 1, 2, 3, 4]


async def test_another_client_starts_at_once_beside_it(solves):
    heavy = [solves.ask("heavy", number) for number in range(5)]
    await solves.until_begun(0, 1)
    light = solves.ask("light", "light")
    await solves.until_begun("light")
    solves.end("light")
    assert await light == "light"
    solves.end_all()
    assert len(await asyncio.gather(*heavy)) == 5


async def test_clients_take_turns(solves):
    heavy = [solves.ask("heavy", f"heavy {number}") for number in range(4)]
    await solves.until_begun("heavy 0", "heavy 1")
    light = [solves.ask("light", f"light {number}") for number in range(2)]
    await solves.until_begun("light 0")
    # Both run one: whoever has waited longer goes first, and the other next.
    solves.end("heavy 0")
    await solves.until_begun("heavy 2")
    solves.end("heavy 1")
    await solves.until_begun("light 1")
    assert "heavy 3" not in solves.begun
    solves.end_all()
    await asyncio.gather(*heavy, *light)


async def test_in_a_full_queue_the_busiest_makes_room(solves):
    heavy = [solves.ask("heavy", f"heavy {number}") for number in range(5)]
    await solves.until_begun("heavy 0", "heavy 1")
    light = [solves.ask("light", f"light {number}") for number in range(2)]
    await asyncio.sleep(0.05)
    # The newest of the heavy client's is refused, and nobody else.
    with pytest.raises(QueueFullError):
        await heavy.pop()
    assert not any(task.done() for task in (*heavy, *light))
    # The light client cannot be pushed out in turn.
    with pytest.raises(QueueFullError):
        await solves.ask("heavy", "heavy 5")
    solves.end_all()
    assert await asyncio.gather(*heavy, *light) == [
        "heavy 0", "heavy 1", "heavy 2", "heavy 3", "light 0", "light 1",
    ]  # fmt: skip


async def test_a_queue_may_be_shorter_than_there_are_workers():
    lane = Lane("thread", workers=3, queue_length=1)
    solves = Solves(lane)
    tasks = [solves.ask("one", number) for number in range(4)]
    await solves.until_begun(0, 1, 2)
    with pytest.raises(QueueFullError):
        await solves.ask("one", 4)
    solves.end_all()
    assert await asyncio.gather(*tasks) == [0, 1, 2, 3]
    await asyncio.to_thread(lane.close)


async def test_a_waiting_solve_that_nobody_wants_gives_its_place_back(solves):
    running = [solves.ask("heavy", number) for number in range(2)]
    await solves.until_begun(0, 1)
    with pytest.raises(DeadlineExceededError):
        await solves.ask("heavy", "late", seconds=0.05)
    gone = asyncio.Event()
    gone.set()
    with pytest.raises(AbandonedError):
        await solves.ask("heavy", "abandoned", gone=gone.wait)
    cancelled = solves.ask("heavy", "cancelled")
    await asyncio.sleep(0.01)
    cancelled.cancel()
    await asyncio.gather(cancelled, return_exceptions=True)
    waiting = [solves.ask("heavy", f"waiting {number}") for number in range(3)]
    await asyncio.sleep(0.01)
    solves.end_all()
    assert len(await asyncio.gather(*running, *waiting)) == 5
    assert {"late", "abandoned", "cancelled"}.isdisjoint(solves.begun)
