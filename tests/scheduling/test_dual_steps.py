"""The steps of dual pursuit: whom a drop takes out, whom a kick brings in, when a descent ends."""

import numpy as np
import pytest

from app.scheduling.kernels.dual.descent import State, descend, drop
from app.scheduling.kernels.dual.kicks import kick
from app.scheduling.kernels.dual.starts import start_with_everyone
from app.scheduling.kernels.dual.sweeps import scaled_rows
from lab.channels import iid_channels


def state_of(rng, antennas, devices, needed=2.0):
    """A search that has not begun, among channels over what their devices need."""
    rows = scaled_rows(
        iid_channels(rng, antennas, devices), np.broadcast_to(needed, devices).copy()
    )
    lists = [np.zeros(devices, dtype) for dtype in (float, float, np.int64, np.int64)]
    receivers = [np.zeros(antennas, np.complex128) for _ in range(2)]
    return State(rows, (np.abs(rows) ** 2).sum(1), *lists, *receivers, np.ones(devices), 1.0)


@pytest.mark.parametrize("prioritised", [False, True])
@pytest.mark.parametrize("batch", [1, 2, 5])
def test_a_drop_takes_those_with_the_largest_multiplier_times_norm(batch, prioritised):
    rng = np.random.default_rng(20)
    for _ in range(20):
        state = state_of(rng, 4, 12)
        members = rng.permutation(12)[:9]
        state.members[:9] = members
        state.multipliers[members] = rng.uniform(0.1, 1.0, 9)
        state.receiver[:] = state.multipliers @ state.rows
        if prioritised:
            state.values[:] = rng.uniform(0.1, 1.0, 12)
        scores = state.multipliers[members] * np.linalg.norm(state.rows[members], axis=1)
        scores /= state.values[members]
        expected = set(members[np.argsort(scores)[: 9 - batch]])
        assert drop(state, 9, batch) == 9 - batch
        kept = state.members[: 9 - batch]
        assert set(kept) == expected
        assert set(np.flatnonzero(state.multipliers)) == expected
        # The receiver is still the sum over the members, and those keep their order.
        np.testing.assert_allclose(state.receiver, state.multipliers @ state.rows, atol=1e-12)
        assert kept.tolist() == [member for member in members if member in expected]


def test_a_kick_keeps_the_served_and_adds_one_to_five_who_are_not():
    rng = np.random.default_rng(21)
    random = np.ones(1, np.uint64)
    sizes = set()
    for _ in range(60):
        # Near and far: what a strong device misses is a shorter step than of a weak one.
        state = state_of(rng, 4, 20, needed=10 ** rng.uniform(-0.5, 0.2, 20))
        best = iid_channels(rng, 4, 1)[:, 0].copy()
        best /= np.linalg.norm(best)
        multipliers = rng.uniform(0.0, 1.0, 20)
        levels = np.abs(state.rows.conj() @ best)
        servable = np.linalg.norm(state.rows, axis=1) >= 1
        count = kick(state, best, multipliers, random)
        members = state.members[:count]
        served = set(np.flatnonzero(levels >= 1))
        added = set(members) - served
        assert served <= set(members)
        assert servable[members].all()
        assert len(set(members)) == count
        missed = int(np.count_nonzero(servable & (levels < 1)))
        assert min(1, missed) <= len(added) <= min(5, missed)
        sizes.add(len(added))
        # Random, but nobody more than one and a half times as near as another stays behind it.
        steps = (1 - levels) / np.linalg.norm(state.rows, axis=1)
        for device in np.flatnonzero(servable & (levels < 1)):
            if device not in added:
                assert all(steps[other] <= 1.5 * steps[device] for other in added)
        kept = sorted(served)
        np.testing.assert_array_equal(state.multipliers[kept], multipliers[kept])
        np.testing.assert_allclose(state.receiver, state.multipliers @ state.rows, atol=1e-12)
    assert sizes == {1, 2, 3, 4, 5}


class StopAfter:
    """A stop flag that is set from outside after so many looks at it."""

    def __init__(self, looks):
        self._looks = looks

    def __getitem__(self, index):
        self._looks -= 1
        return self._looks < 0


@pytest.mark.parametrize("rounds", [0, 1, 5])
def test_stop_ends_a_descent_in_the_middle(rounds):
    """One descent over many devices takes long: it looks before every drop."""
    state = state_of(np.random.default_rng(13), 16, 400)
    count = start_with_everyone(state, np.zeros(1, np.uint64), 0, np.zeros(0, np.complex128))
    # Compiled code takes only arrays; the same code, interpreted, takes a flag that changes.
    descended = getattr(descend, "py_func", descend)
    assert descended(state, count, 0.0, StopAfter(rounds)) == (0.0, 0, rounds)
    _, served, further = descended(state, count, 0.0, StopAfter(10**6))
    assert served > 0
    assert further > 5


@pytest.mark.parametrize("batch", [1, 3])
def test_a_drop_takes_somebody_even_among_numbers_that_overflowed(batch):
    state = state_of(np.random.default_rng(23), 4, 8)
    state.members[:] = np.arange(8)
    state.multipliers[:] = np.nan
    assert drop(state, 8, batch) < 8
