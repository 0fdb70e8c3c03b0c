"""The estimate of a solve's longest time: grows with the work, and covers only what is quick."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.scheduling import IRS_SCHEDULERS, SCHEDULERS

ESTIMATED = {
    "matching_pursuit": [{"search": s} for s in ("backward", "forward", "bidirectional")],
    "dual_pursuit": [{"starts": starts} for starts in (1, 5, 100)],
    "all_devices": [{}],
}
CASES = [(name, parameters) for name, listed in ESTIMATED.items() for parameters in listed]


def estimate(name, antennas, devices, parameters=None):
    scheduler = SCHEDULERS[name]
    return scheduler.longest_seconds(scheduler.parameters(**parameters or {}), antennas, devices)


@pytest.mark.parametrize(("name", "parameters"), CASES)
@given(st.integers(1, 64), st.integers(1, 200), st.integers(0, 64), st.integers(0, 200))
def test_more_antennas_or_devices_never_take_less(
    name, parameters, antennas, devices, more, others
):
    less = estimate(name, antennas, devices, parameters)
    assert 0 < less <= estimate(name, antennas + more, devices + others, parameters) < math.inf


@given(st.integers(1, 64), st.integers(1, 200), st.integers(1, 5000), st.integers(1, 5000))
def test_starts_take_their_time_each(antennas, devices, starts, more):
    few = estimate("dual_pursuit", antennas, devices, {"starts": starts})
    many = estimate("dual_pursuit", antennas, devices, {"starts": starts + more})
    assert many > few
    # Each costs the same; what all share counts once.
    assert many / few <= (starts + more) / starts


def test_a_search_that_readmits_devices_can_take_twice_as_long():
    once, twice = (
        estimate("matching_pursuit", 6, 20, {"search": search})
        for search in ("backward", "bidirectional")
    )
    assert once < twice


def test_other_algorithms_have_none():
    for name in SCHEDULERS.keys() - ESTIMATED.keys():
        assert estimate(name, 1, 1) == math.inf
    for scheduler in IRS_SCHEDULERS.values():
        assert scheduler.longest_seconds(scheduler.parameters(), 1, 1) == math.inf
