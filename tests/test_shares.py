"""What clients hold: never more than all may, nor than one may."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.shares import ClientShareError, ConcurrencyLimitError, OverloadedError, Shares


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
        with shares.holding("one") as hold:
            for _ in range(3):
                hold(4)

    with pytest.raises(ConcurrencyLimitError):
        overdraw()
    shares.take("two", 10)


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
