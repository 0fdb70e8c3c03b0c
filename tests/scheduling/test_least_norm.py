"""The least-norm kernel: the level never falls, and limit, target and stop are kept."""

import math

import numpy as np
import pytest

from app.scheduling.kernels.dual.least_norm import best_of_starts, level_of, minimise_norm
from app.scheduling.kernels.dual.sweeps import scaled_rows
from app.scheduling.kernels.matching.algorithm_1 import principal_receiver
from lab.channels import iid_channels

ANTENNAS, DEVICES = 4, 12
NEVER, AT_ONCE = np.zeros(1, np.bool_), np.ones(1, np.bool_)


def level(channels, receiver):
    return np.abs(receiver.conj() @ channels).min() / np.linalg.norm(receiver)


def minimised(channels, start, limit=100_000, stop=NEVER, target=math.inf, tolerance=1e-6):
    """Return the receiver found and the visits that it took."""
    found = np.array(start)
    rows = scaled_rows(channels, np.ones(channels.shape[1]))
    members = np.arange(channels.shape[1])
    visits = minimise_norm(rows, members, found, tolerance, limit, stop, target)
    return found, visits


STARTS = {
    "random": lambda rng, channels: iid_channels(rng, ANTENNAS, 1)[:, 0],
    "principal": lambda rng, channels: principal_receiver(channels),
    "strongest device": lambda rng, channels: channels[:, 0],
    "converged": lambda rng, channels: minimised(
        channels, iid_channels(rng, ANTENNAS, 1)[:, 0], tolerance=1e-9
    )[0],
}


@pytest.mark.parametrize("limit", [1, 100, 100_000])
@pytest.mark.parametrize("start", STARTS)
def test_the_level_never_falls(start, limit):
    """A converged start is the hard one: the first round, from scratch, is always below it."""
    rng = np.random.default_rng(1)
    for _ in range(30):
        channels = iid_channels(rng, ANTENNAS, DEVICES)
        receiver = STARTS[start](rng, channels)
        found, _ = minimised(channels, receiver, limit)
        assert level(channels, found) >= level(channels, receiver) * (1 - 1e-12)


def test_a_random_start_rises_to_a_local_maximum():
    """At a local maximum no small step of the receiver raises the level."""
    rng = np.random.default_rng(2)
    for _ in range(10):
        channels = iid_channels(rng, ANTENNAS, DEVICES)
        start = iid_channels(rng, ANTENNAS, 1)[:, 0]
        found, _ = minimised(channels, start, tolerance=1e-9)
        reached = level(channels, found)
        assert reached > 1.05 * level(channels, start)
        for _ in range(200):
            step = iid_channels(rng, ANTENNAS, 1)[:, 0] * np.linalg.norm(found) * 1e-3
            assert level(channels, found + step) <= reached * (1 + 1e-6)


@pytest.mark.parametrize("limit", [0, 1, 100, 1000])
def test_visits_are_limited(limit):
    rng = np.random.default_rng(3)
    for _ in range(10):
        channels = iid_channels(rng, ANTENNAS, DEVICES)
        start = iid_channels(rng, ANTENNAS, 1)[:, 0]
        _, visits = minimised(channels, start, limit, tolerance=0.0)
        # Every round is one more sweep over all, an alignment, and up to 255 over the holders.
        assert limit <= visits <= limit + (2 + 255) * DEVICES
        assert (visits == 0) == (limit == 0)
        if limit == 1:
            # One round: a sweep and an alignment over all, and a sweep over those that hold.
            assert 2 * DEVICES < visits <= 3 * DEVICES


def test_it_ends_at_the_target_and_at_the_stop():
    rng = np.random.default_rng(4)
    channels = iid_channels(rng, ANTENNAS, DEVICES)
    start = iid_channels(rng, ANTENNAS, 1)[:, 0]
    best, whole = minimised(channels, start, tolerance=1e-9)
    target = 0.9 * level(channels, best)
    found, visits = minimised(channels, start, target=target, tolerance=1e-9)
    assert level(channels, found) >= target
    assert visits < whole
    found, visits = minimised(channels, start, stop=AT_ONCE)
    assert visits == 0
    np.testing.assert_array_equal(found, start)


def test_the_best_of_several_starts_is_kept():
    rng = np.random.default_rng(5)
    for _ in range(10):
        channels = iid_channels(rng, ANTENNAS, DEVICES)
        rows = scaled_rows(channels, np.ones(DEVICES))
        starts = np.ascontiguousarray(iid_channels(rng, ANTENNAS, 6).T)
        levels = [level(channels, minimised(channels, start, 10_000)[0]) for start in starts]
        receiver, found = best_of_starts(rows, starts, math.inf, 1e-6, 10_000)
        assert found == pytest.approx(max(levels), rel=1e-3)
        assert found == pytest.approx(level_of(rows, receiver), rel=1e-12)
        assert found == pytest.approx(level(channels, receiver), rel=1e-12)
