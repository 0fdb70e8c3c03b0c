"""The queue before threads and processes: bounded, and shared fairly among clients."""

import asyncio
import gc
import threading
from collections import defaultdict

import pytest
from prometheus_client import REGISTRY

from app.deadline import Deadline
from app.execution.lane import Lane, QueueFullError, Work
from app.scheduling import DeadlineExceededError


class Held:
    """Starts solves in a lane that run until the gate opens, or one of their client may end."""

    def __init__(self, workers, queue_length):
        self.lane = Lane("test", workers, queue_length)
        self.gate = threading.Event()
        self.ends = defaultdict(lambda: threading.Semaphore(0))
        self.started = []

    def ask(self, client, seconds=30.0, parts=1):
        def run():
            self.started.append(client)
            while not (self.gate.is_set() or self.ends[client].acquire(timeout=0.01)):
                pass
            return client

        deadline = Deadline(seconds, client)
        return asyncio.ensure_future(self.lane.run([Work(run)] * parts, deadline))

    async def asked(self, clients):
        """Ask for one after the other; return those that are not refused at once."""
        tasks = []
        for client in clients:
            tasks.append(self.ask(client))
            await asyncio.sleep(0.01)
        return tasks

    async def started_after(self, client):
        """End one solve of a client; return whose are started then."""
        count = len(self.started)
        self.ends[client].release()
        while len(self.started) == count:
            await asyncio.sleep(0.01)
        return self.started[count:]


@pytest.fixture
def held():
    made = []

    def make(workers, queue_length):
        made.append(Held(workers, queue_length))
        return made[-1]

    yield make
    for each in made:
        each.gate.set()
        each.lane.close()


def waiting():
    """Return how many solves wait, as the metrics say."""
    return REGISTRY.get_sample_value("airsched_queue_length", {"lane": "test"})


async def outcomes(held, tasks):
    """Open the gate; return what each solve returned, or None for those that were refused."""
    held.gate.set()
    found = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 20)
    assert all(isinstance(each, list | QueueFullError) for each in found)
    return ["".join(each) if isinstance(each, list) else None for each in found]


@pytest.mark.anyio
@pytest.mark.parametrize(("workers", "queue_length"), [(1, 2), (3, 1), (2, 0)])
async def test_one_client_fills_its_threads_and_the_queue_and_no_more(held, workers, queue_length):
    lane = held(workers, queue_length)
    tasks = await lane.asked("a" * (workers + queue_length + 2))
    assert len(lane.started) == workers
    assert waiting() == queue_length
    places = workers + queue_length
    assert await outcomes(lane, tasks) == ["a"] * places + [None] * 2
    assert waiting() == 0


@pytest.mark.anyio
async def test_another_client_need_not_wait_for_a_thread(held):
    lane = held(2, 4)
    await lane.asked("aaaa")
    assert lane.started == ["a", "a"]
    await lane.asked("b")
    assert lane.started == ["a", "a", "b"]


@pytest.mark.anyio
async def test_in_a_full_queue_the_busiest_makes_room_but_not_for_its_equal(held):
    lane = held(1, 3)
    # One of each runs: a has two waiting, b one.
    tasks = await lane.asked("aabab")
    assert lane.started == ["a", "b"]
    # c, d and e have nothing yet: the newest of a, a and b go. Everybody who waits has one now.
    tasks += await lane.asked("cdef")
    assert await outcomes(lane, tasks) == ["a", None, "b", None, None, "c", "d", "e", None]


@pytest.mark.anyio
async def test_a_free_thread_goes_to_who_runs_the_fewest(held):
    lane = held(2, 9)
    await lane.asked("aaaaabbc")
    assert lane.started == ["a", "a", "b"]
    # c runs none; then a and b run one each, and a has waited longer; then b runs none.
    for client, following in (("a", "c"), ("c", "a"), ("b", "b")):
        assert await lane.started_after(client) == [following]


@pytest.mark.anyio
async def test_among_those_who_run_as_many_it_goes_to_who_was_served_longest_ago(held):
    lane = held(1, 9)
    await lane.asked("abccddee")
    assert lane.started == ["a", "b"]
    for client, following in (("a", "c"), ("c", "d"), ("d", "e"), ("e", "c")):
        assert await lane.started_after(client) == [following]


@pytest.mark.anyio
async def test_who_gives_up_waiting_leaves_the_place_to_others(held):
    lane = held(1, 1)
    await lane.asked("a")
    for _ in range(3):
        with pytest.raises(DeadlineExceededError):
            await lane.ask("a", seconds=0.02)
    waiting = await lane.asked("a")
    assert await outcomes(lane, waiting) == ["a"]
    assert lane.started == ["a", "a"]


@pytest.mark.anyio
async def test_the_parts_of_a_batch_are_admitted_together_or_not_at_all(held):
    """A batch that finds no room takes none from others."""
    lane = held(1, 3)
    # One of a runs, and one of b beside it; two of a wait, and one of b.
    tasks = await lane.asked("aabab")
    # c has nothing yet, but three parts would leave it with more to do than a has.
    refused = lane.ask("c", parts=3)
    await asyncio.sleep(0.01)
    assert isinstance(refused.exception(), QueueFullError)
    assert await outcomes(lane, tasks) == ["a", "a", "b", "a", "b"]


@pytest.mark.anyio
async def test_a_batch_may_take_the_places_of_busier_clients(held):
    lane = held(1, 4)
    tasks = await lane.asked("aaaaa")
    tasks.append(lane.ask("b", parts=2))
    assert await outcomes(lane, tasks) == ["a", "a", "a", "a", None, "bb"]


@pytest.mark.anyio
@pytest.mark.parametrize(("workers", "queue_length", "parts"), [(1, 4, 4), (4, 1, 3)])
async def test_a_batch_takes_no_more_places_than_the_busier_have(
    held, workers, queue_length, parts
):
    """After one, the other would be no busier; or what it still has is running."""
    lane = held(workers, queue_length)
    tasks = await lane.asked("aaaaa")
    with pytest.raises(QueueFullError):
        await lane.ask("b", parts=parts)
    assert await outcomes(lane, tasks) == ["a"] * 5


@pytest.mark.anyio
async def test_once_answered_a_client_is_no_longer_watched(held):
    before = asyncio.all_tasks()
    deadline = Deadline(30, "a", asyncio.Event().wait)
    assert await held(1, 0).lane.run([Work(lambda: "a")], deadline) == ["a"]
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before


def test_a_solve_that_outlives_the_event_loop_is_no_error(held, caplog):
    each = held(1, 0)

    async def miss():
        with pytest.raises(DeadlineExceededError):
            await each.ask("slow", seconds=0.05)

    asyncio.run(miss())
    each.gate.set()
    each.lane.close()
    assert each.started == ["slow"]
    assert not caplog.records


@pytest.mark.anyio
@pytest.mark.parametrize("parts", [1, 2])
async def test_a_missed_deadline_leaves_no_outcome_that_nobody_retrieves(held, parts):
    """Asyncio would log it as an error for each solve that is given up."""
    logged = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, about: logged.append(about))
    each = held(2, 2)
    with pytest.raises(DeadlineExceededError):
        await each.ask("slow", seconds=0.05, parts=parts)
    each.gate.set()
    await asyncio.sleep(0.05)
    gc.collect()
    assert logged == []
