"""Priorities: the most valuable set instead of the largest."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from app.scheduling import SCHEDULERS, InvalidProblemError, Problem, solve
from app.scheduling.servability import Servability
from lab.channels import iid_channels
from lab.oracles.exhaustive import best_set, most_value
from lab.problems import random_problem

TAKERS = [name for name, scheduler in SCHEDULERS.items() if scheduler.takes_priorities]
VARIANTS = [
    pytest.param(name, parameters, id=f"{name}-{parameters}")
    for name in TAKERS
    for parameters in SCHEDULERS[name].variants()
]


def prioritised(rng, antennas=3, devices=10, gamma_db=0.0):
    channels = iid_channels(rng, antennas, devices)
    priorities = 10 ** rng.uniform(-1, 1, devices)
    return Problem(channels, np.ones(devices), 10 ** (gamma_db / 10), priorities=priorities)


def value(problem, schedule):
    return float(problem.priorities[schedule.active].sum())


def test_who_takes_them():
    assert TAKERS == ["dc", "dual_pursuit", "exhaustive", "matching_pursuit", "optimal", "sdr"]


@pytest.mark.parametrize(("name", "parameters"), VARIANTS)
def test_equal_priorities_change_nothing_bit_for_bit(name, parameters):
    rng = np.random.default_rng(70)
    for seed in range(6):
        plain = random_problem(rng, max_devices=min(12, SCHEDULERS[name].max_devices or 12))
        equal = replace(plain, priorities=np.full(plain.devices, 0.7))
        one, other = (solve(p, name, parameters, seed=seed) for p in (plain, equal))
        assert one.active.tobytes() == other.active.tobytes()
        assert one.transmit_scalars.tobytes() == other.transmit_scalars.tobytes()
        assert one.iterations == other.iterations


@pytest.mark.parametrize(("name", "parameters"), VARIANTS)
def test_only_their_ratios_matter(name, parameters):
    rng = np.random.default_rng(71)
    problem = prioritised(rng, devices=8)
    scaled = replace(problem, priorities=problem.priorities * 1024)
    one, other = (solve(p, name, parameters) for p in (problem, scaled))
    assert one.active.tolist() == other.active.tolist()
    assert one.iterations == other.iterations


def most_valuable(problem):
    """Return the largest value of any set that one receiver serves, by trying all of them."""
    servability = Servability(problem, starts=200)
    best = 0.0
    for size in range(1, problem.devices + 1):
        for members in itertools.combinations(range(problem.devices), size):
            worth = float(problem.priorities[list(members)].sum())
            if worth > best and servability.receiver(np.array(members)) is not None:
                best = worth
    return best


def test_the_oracle_finds_the_most_valuable_set():
    rng = np.random.default_rng(72)
    gained = 0
    for gamma_db in (-4.0, -2.0, 0.0):
        for _ in range(6):
            problem = prioritised(rng, antennas=3, devices=7, gamma_db=gamma_db)
            best = problem.as_answered(most_value(problem))
            assert best == pytest.approx(most_valuable(problem))
            _, largest = best_set(replace(problem, priorities=None))
            gained += best > problem.priorities[largest].sum()
    # Otherwise the size would do as well.
    assert gained > 0


def test_a_tie_goes_to_the_larger_set():
    # Two devices that share a direction, or one across it, of as much value as both.
    channels = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    problem = Problem(channels, np.ones(3), 1.0, priorities=np.array([1.0, 1.0, 2.0]))
    assert best_set(problem)[1].tolist() == [True, True, False]


@pytest.mark.parametrize("name", ["dc", "dual_pursuit", "optimal", "sdr"])
@pytest.mark.parametrize("preferred", [0, 1])
def test_the_device_of_higher_priority_is_served(name, preferred):
    priorities = np.full(2, 1e-6)
    priorities[preferred] = 1e6
    problem = Problem(np.eye(2), np.ones(2), 1.0, priorities=priorities)
    assert solve(problem, name).active.tolist() == [preferred]


def test_value_of_each_algorithm_beside_the_optimum():
    """Shares of the optimum's value; ``python -m experiments.studies priorities`` has more."""
    rng = np.random.default_rng(73)
    least = {"dual_pursuit": 0.997, "dc": 0.96, "sdr": 0.7, "matching_pursuit": 0.6}
    total = dict.fromkeys(["optimal", *least], 0.0)
    for gamma_db in (-3.0, 0.0, 3.0):
        for seed in range(25):
            problem = prioritised(rng, gamma_db=gamma_db)
            found = {n: value(problem, solve(problem, n, seed=seed)) for n in total}
            assert max(found.values()) <= found["optimal"] * (1 + 1e-9)
            total = {name: total[name] + found[name] for name in total}
    for name, share in least.items():
        assert total[name] >= share * total["optimal"], name


@pytest.mark.parametrize("name", sorted(SCHEDULERS.keys() - set(TAKERS)))
def test_algorithms_with_an_order_of_their_own_refuse(name):
    problem = Problem(np.eye(2), np.ones(2), 1.0, priorities=np.ones(2))
    with pytest.raises(InvalidProblemError, match="takes no priorities") as caught:
        solve(problem, name)
    assert caught.value.field == "priorities"


@pytest.mark.parametrize(
    "priorities",
    [
        *([1.0], [1.0, 1.0, 1.0], [[1.0, 1.0]]),
        *([1.0, 0.0], [1.0, -1.0], [1.0, np.nan], [np.inf, 1.0], ["a", "b"]),
        *([1.0, 1.1e6], [1.0, 0.9e-6]),
    ],
)
def test_invalid_priorities(priorities):
    with pytest.raises(InvalidProblemError) as caught:
        Problem(np.eye(2), np.ones(2), 1.0, priorities=priorities)
    assert caught.value.field == "priorities"
