"""Who may go on: limits that hold for all clients and for one, and turns on the event loop."""

import asyncio
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.admission import (
    ClientShareError,
    ConcurrencyLimitError,
    Holding,
    OverloadedError,
    Shares,
    Turns,
)

# Limits


def test_the_limit_and_the_share():
    totals = []
    shares = Shares(8, 0.75, ConcurrencyLimitError, totals.append)
    shares.take("one", 6)
    with pytest.raises(ClientShareError):
        shares.take("one")
    shares.take("two", 2)
    with pytest.raises(ConcurrencyLimitError):
        shares.take("three")
    shares.give_back("one", 1)
    shares.take("three")
    assert totals == [6, 8, 7, 8]


def test_even_a_small_share_is_something():
    Shares(1, 0.01, ConcurrencyLimitError).take("one")


def test_what_was_held_is_given_back_whatever_happens():
    shares = Shares(10, 1, ConcurrencyLimitError)

    def overdraw():
        with Holding(shares, "one") as hold:
            for _ in range(3):
                hold(4)

    with pytest.raises(ConcurrencyLimitError):
        overdraw()
    shares.take("two", 10)


def test_a_client_that_holds_nothing_is_forgotten():
    class Client(str):
        pass

    shares, client = Shares(10, 1, ConcurrencyLimitError), Client("one")
    shares.take(client, 2)
    shares.give_back(client, 2)
    forgotten = weakref.ref(client)
    del client
    assert forgotten() is None


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 6)), max_size=40))
def test_against_plain_bookkeeping(asked):
    """Taking and giving back at random: the same as sums over a list."""
    shares, held = Shares(12, 0.5, ConcurrencyLimitError), []
    for client, amount in asked:
        total = sum(taken for _, taken in held)
        own = sum(taken for owner, taken in held if owner == client)
        try:
            shares.take(client, amount)
        except OverloadedError:
            assert total + amount > 12 or own + amount > 6
            if held:
                shares.give_back(*held.pop(0))
        else:
            assert total + amount <= 12
            assert own + amount <= 6
            held.append((client, amount))


# Turns


async def shared():
    """Return turns that two clients have taken just now."""
    turns = Turns()
    for client in ("one", "two"):
        await turns.take(client)
    return turns


async def order(*clients, during=None):
    """Return in which order requests of ``clients`` get their turn; ``during`` may end some."""
    turns, gone = await shared(), []

    async def ask(client):
        await turns.take(client)
        gone.append(client)

    tasks = [asyncio.create_task(ask(client)) for client in clients]
    if during is not None:
        await during(tasks)
    await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 5)
    return gone


@pytest.mark.anyio
async def test_one_of_each_client_goes_in_a_pass():
    gone = await order(*["heavy"] * 20, "light", "light", "other")
    assert gone.index("light") <= 2
    assert gone.index("other") <= 2
    assert [client for client in gone if client != "heavy"].count("light") == 2
    # The light client's second request waits for one more of the heavy client's, not for twenty.
    assert len(gone) - gone[::-1].index("light") <= 6


@pytest.mark.anyio
async def test_a_newcomer_does_not_wait_for_all_that_came_before():
    turns, gone = await shared(), []

    async def ask(client):
        await turns.take(client)
        gone.append(client)

    tasks = [asyncio.create_task(ask("heavy")) for _ in range(50)]
    while len(gone) < 10:
        await asyncio.sleep(0)
    tasks.append(asyncio.create_task(ask("light")))
    await asyncio.gather(*tasks)
    assert gone.index("light") <= 14


@pytest.mark.anyio
async def test_every_request_that_has_arrived_is_there_before_the_first_goes():
    turns, there, seen = Turns(), [], []

    async def ask(number):
        there.append(number)
        await turns.take(f"client {number}")
        seen.append(len(there))

    await asyncio.gather(*(ask(number) for number in range(5)))
    assert seen == [5] * 5


@pytest.mark.anyio
async def test_a_request_that_is_given_up_holds_up_nobody():
    async def give_up(tasks):
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        for task in tasks[2:5]:
            task.cancel()

    assert await order(*["heavy"] * 8, during=give_up) == ["heavy"] * 5


@pytest.mark.anyio
async def test_the_turns_of_a_client_are_in_order():
    turns, gone = await shared(), []

    async def ask(number):
        await turns.take("one")
        gone.append(number)

    await asyncio.gather(*(ask(number) for number in range(20)))
    assert gone == list(range(20))


@pytest.mark.anyio
async def test_a_client_that_is_alone_now_keeps_the_order_of_its_turns(monkeypatch):
    turns, gone = await shared(), []

    async def ask(number):
        await turns.take("one")
        gone.append(number)

    tasks = [asyncio.create_task(ask(number)) for number in range(10)]
    while len(gone) < 5:
        await asyncio.sleep(0)
    monkeypatch.setattr("app.admission.ALONE_SECONDS", -1.0)
    tasks += [asyncio.create_task(ask(number)) for number in range(10, 15)]
    await asyncio.gather(*tasks)
    assert gone == list(range(15))


async def passes_of(turns, clients):
    """Return how many passes of the event loop it takes until requests of ``clients`` have gone."""
    passes = 0
    tasks = [asyncio.create_task(turns.take(client)) for client in clients]
    while not all(task.done() for task in tasks):
        await asyncio.sleep(0)
        passes += 1
    return passes


@pytest.mark.anyio
async def test_a_pass_is_one_request_of_each_client_however_many_there_are():
    assert await passes_of(await shared(), ["one", "two", "three"] * 20) >= 20


@pytest.mark.anyio
async def test_a_client_alone_needs_no_turns(monkeypatch):
    assert await passes_of(Turns(), ["one"] * 20) < 10
    turns = await shared()
    assert await passes_of(turns, ["one"] * 20) >= 20
    monkeypatch.setattr("app.admission.ALONE_SECONDS", 0.01)
    await asyncio.sleep(0.05)
    assert await passes_of(turns, ["one"] * 20) < 10
