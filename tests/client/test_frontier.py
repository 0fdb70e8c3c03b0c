"""The client's frontier: what it says, and which point each rule takes."""

import dataclasses

import numpy as np
import pytest

from airsched_client import Frontier, InvalidRequestError, Schedule
from app.scheduling import SCHEDULERS, Problem, SolveSpec, find_frontier
from app.scheduling.problem import LARGEST
from lab.channels import iid_channels
from tests.client.callers import CALLERS
from tests.client.test_congruence import FOUND_BY_THE_CORE, bits, every_way

CHANNELS = iid_channels(np.random.default_rng(63), 4, 10)
WEIGHTS = np.linspace(0.8, 1.2, 10)
PRIORITIES = np.linspace(2.0, 0.5, 10)


def test_every_way_to_a_frontier_gives_the_same(service_url):
    found = every_way(
        service_url, "schedule_frontier", CHANNELS, weights=WEIGHTS, priorities=PRIORITIES, seed=7
    )
    dual = SCHEDULERS["dual_pursuit"]
    problem = Problem(CHANNELS, WEIGHTS, LARGEST, priorities=PRIORITIES)
    expected = find_frontier(problem, SolveSpec(dual, dual.parameters(), seed=7))
    assert len(expected.points) > 5
    for frontier in found:
        assert frontier.stopped == "converged"
        np.testing.assert_array_equal(frontier.weights, WEIGHTS)
        for point, core in zip(frontier, expected.points, strict=True):
            assert point.gamma == core.gamma
            for field in FOUND_BY_THE_CORE:
                assert bits(getattr(point, field)) == bits(getattr(core.schedule, field))


def test_options_of_both_clients(service_url):
    for call in CALLERS.values():
        cut = call(
            service_url, {}, "schedule_frontier", CHANNELS.T, layout="devices_first", min_devices=8
        )
        named = call(service_url, {}, "schedule_frontier", CHANNELS, device_ids=list("abcdefghij"))
        assert named.points[-1].active_ids == tuple("abcdefghij")
        assert [point.active.size for point in cut] == [8, 9, 10]
        np.testing.assert_array_equal(cut.weights, np.ones(10))
        with pytest.raises(TypeError, match="no option 'gamma_db'"):
            call(service_url, {}, "schedule_frontier", CHANNELS, gamma_db=3.0)
        with pytest.raises(ValueError, match="priorities has 9 devices"):
            call(service_url, {}, "schedule", CHANNELS, gamma=1.0, priorities=np.ones(9))
        with pytest.raises(InvalidRequestError, match="priorities"):
            call(service_url, {}, "schedule_frontier", CHANNELS, priorities=-PRIORITIES)
        one = call(service_url, {}, "schedule", CHANNELS, gamma=1.0, priorities=PRIORITIES)
        assert one.active.size > 0


def point(active, error):
    return Schedule(
        feasible=True,
        active=np.arange(active),
        active_ids=None,
        receiver=np.ones(1, complex),
        power_factor=1 / error,
        computation_error=error,
        transmit_scalars=np.zeros(4, complex),
        gamma=error,
        algorithm={},
        iterations=1,
        stopped="converged",
    )


FRONTIER = Frontier(
    (point(1, 0.1), point(2, 0.4), point(3, 2.0), point(4, 90.0)), "converged", np.ones(4)
)


def test_rules():
    assert FRONTIER.at_most(0.05) is None
    assert FRONTIER.at_most(0.4).active.size == 2
    assert FRONTIER.at_most(1e9).active.size == 4
    assert FRONTIER.at_least(0).active.size == 1
    assert FRONTIER.at_least(3).active.size == 3
    assert FRONTIER.at_least(5) is None


def test_the_rule_without_a_tolerance():
    # By hand, E/(2n²) + ρ(4/n − 1)/4: 22.55, 7.55, 2.61, 2.81 for ρ = 30.
    assert FRONTIER.best().active.size == 3
    # 0.05 + 0.075, 0.05 + 0.025, 0.11 + 0.008, 2.8 for ρ = 0.1.
    assert FRONTIER.best(0.1).active.size == 2
    assert FRONTIER.best(1e6).active.size == 4
    assert FRONTIER.best(0.0).active.size in (1, 2)
    # A device of great weight is worth its error.
    heavy = dataclasses.replace(FRONTIER, weights=np.array([1.0, 1.0, 1.0, 20.0]))
    assert heavy.best().active.size == 4
    empty = dataclasses.replace(FRONTIER, points=())
    assert empty.best() is None
    assert len(empty) == 0


def test_the_service_s_recommendation_is_used(service_url):
    ask = next(iter(CALLERS.values()))
    for participation in (None, 0.01, 1e4):
        options = {"weights": WEIGHTS, "participation": participation}
        frontier = ask(service_url, {}, "schedule_frontier", CHANNELS, **options)
        assert frontier.best() is frontier.points[frontier.recommended]
        assert frontier.best() is frontier.best(participation or 30.0)
    assert dataclasses.replace(FRONTIER, recommended=0).best().active.size == 1


def test_it_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        FRONTIER.points = ()
    made = Frontier.from_answer(
        {"device_ids": None, "points": [], "stopped": "deadline", "recommended": None}, np.ones(3)
    )
    with pytest.raises(ValueError, match="read-only"):
        made.weights[0] = 2.0
