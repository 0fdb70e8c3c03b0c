"""Turns on the event loop: one request of each client in a round."""

import asyncio

import pytest

from app.turns import Turns

pytestmark = pytest.mark.anyio


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


async def test_one_of_each_client_goes_in_a_round():
    gone = await order(*["heavy"] * 20, "light", "light", "other")
    assert gone.index("light") <= 2
    assert gone.index("other") <= 2
    assert [client for client in gone if client != "heavy"].count("light") == 2
    # The light client's second request waits for one more of the heavy client's, not for twenty.
    assert len(gone) - gone[::-1].index("light") <= 6


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


async def test_every_request_that_has_arrived_is_there_before_the_first_goes():
    turns, there, seen = Turns(), [], []

    async def ask(number):
        there.append(number)
        await turns.take(f"client {number}")
        seen.append(len(there))

    await asyncio.gather(*(ask(number) for number in range(5)))
    assert seen == [5] * 5


async def test_a_request_that_is_given_up_holds_up_nobody():
    async def give_up(tasks):
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        for task in tasks[2:5]:
            task.cancel()

    assert await order(*["heavy"] * 8, during=give_up) == ["heavy"] * 5


async def test_the_turns_of_a_client_are_in_order():
    turns, gone = await shared(), []

    async def ask(number):
        await turns.take("one")
        gone.append(number)

    await asyncio.gather(*(ask(number) for number in range(20)))
    assert gone == list(range(20))


async def rounds_of(turns, count):
    """Return how many rounds of the loop pass until ``count`` requests of one client have gone."""
    rounds = 0
    tasks = [asyncio.create_task(turns.take("one")) for _ in range(count)]
    while not all(task.done() for task in tasks):
        await asyncio.sleep(0)
        rounds += 1
    return rounds


async def test_a_client_alone_needs_no_turns(monkeypatch):
    assert await rounds_of(Turns(), 20) < 10
    turns = await shared()
    assert await rounds_of(turns, 20) >= 20
    monkeypatch.setattr("app.turns.ALONE_SECONDS", 0.01)
    await asyncio.sleep(0.05)
    assert await rounds_of(turns, 20) < 10
