"""Random, round robin and proportional fair: the longest prefix of the right order."""

import math

import numpy as np
import pytest

from app.scheduling import InvalidParameterError, InvalidProblemError, solve
from app.scheduling.schedulers.ordered import ProportionalFairParameters, RoundRobinParameters
from app.scheduling.servability import Servability
from tests.scheduling.test_baselines import ORDERED, round_of, within_reach


def expected_order(problem, algorithm, seed):
    if algorithm == "random":
        return np.random.default_rng(seed).permutation(problem.devices)
    if algorithm == "round_robin":
        return np.arange(problem.devices)
    return np.argsort(-np.linalg.norm(problem.channels, axis=0))


@pytest.mark.parametrize("algorithm", ORDERED)
@pytest.mark.parametrize("gamma_db", [-4, -1, 2])
def test_ordered_schedules_are_the_longest_prefix(algorithm, gamma_db):
    for seed in range(6):
        problem = round_of(seed, 4, 16, gamma_db, weighted=True)
        order = expected_order(problem, algorithm, seed)
        order = order[within_reach(problem)[order]]
        active = solve(problem, algorithm, seed=seed).active
        assert np.array_equal(np.sort(order[: active.size]), active)
        if active.size < order.size:
            assert Servability(problem, 100).receiver(order[: active.size + 1]) is None


def test_random_follows_the_seed():
    problem = round_of(0, 3, 12, -2)
    schedules = {tuple(solve(problem, "random", seed=seed).active) for seed in range(8)}
    assert len(schedules) > 1


@pytest.mark.parametrize("gamma_db", [-2, -1])
def test_round_robin_takes_turns_upwards_from_the_start(gamma_db):
    """Start, start + 1, … and around: the longest prefix of exactly this order, nobody else."""
    schedules = set()
    for seed in range(2):
        problem = round_of(seed, 3, 10, gamma_db, weighted=True)
        alone = within_reach(problem)
        assert alone.sum() >= 5
        for start in range(10):
            turn = [(start + step) % 10 for step in range(10)]
            order = np.array([device for device in turn if alone[device]])
            for asked in (start, start + 10, start + 990):
                parameters = RoundRobinParameters(start=asked)
                active = solve(problem, "round_robin", parameters).active
                assert sorted(order[: active.size]) == active.tolist()
            schedules.add((seed, *active))
            assert active.size < order.size
            assert Servability(problem, 100).receiver(order[: active.size + 1]) is None
    assert len(schedules) > 10


def test_proportional_fair_is_the_longest_prefix_by_current_over_average_gain():
    rng, cut = np.random.default_rng(0), 0
    for seed in range(6):
        problem = round_of(seed, 3, 10, -2, weighted=True)
        averages = rng.uniform(0.2, 5.0, 10)
        ratios = (np.abs(problem.channels) ** 2).sum(0) / averages
        order = np.argsort(-ratios)
        order = order[within_reach(problem)[order]]
        parameters = ProportionalFairParameters(average_gains=averages.tolist())
        active = solve(problem, "proportional_fair", parameters).active
        assert sorted(order[: active.size]) == active.tolist()
        if active.size < order.size:
            assert Servability(problem, 100).receiver(order[: active.size + 1]) is None
            cut += 1
    assert cut


def test_proportional_fair_prefers_whoever_is_above_their_average():
    problem = round_of(0, 3, 8, -1)
    weakest = np.argmin(np.where(within_reach(problem), np.abs(problem.channels).sum(0), np.inf))
    averages = np.full(8, 100.0)
    averages[weakest] = 0.01
    parameters = ProportionalFairParameters(average_gains=list(averages))
    assert weakest in solve(problem, "proportional_fair", parameters).active


def test_average_gains_must_fit_the_devices():
    parameters = ProportionalFairParameters(average_gains=(1.0, 2.0))
    with pytest.raises(InvalidProblemError, match="average_gains"):
        solve(round_of(0), "proportional_fair", parameters)


@pytest.mark.parametrize("gains", [(1.0, 0.0), (-1.0,), (math.inf,), (math.nan,)])
def test_average_gains_must_be_positive_and_finite(gains):
    with pytest.raises(InvalidParameterError, match="average_gains"):
        ProportionalFairParameters(average_gains=gains)


def test_start_must_not_be_negative():
    with pytest.raises(InvalidParameterError, match="start"):
        RoundRobinParameters(start=-1)
