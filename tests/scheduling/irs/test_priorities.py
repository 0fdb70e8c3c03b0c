"""Priorities with a surface: the most valuable set instead of the largest."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from app.scheduling import IRS_SCHEDULERS, InvalidProblemError, IrsProblem, solve
from lab.oracles.exhaustive import most_value
from lab.problems import random_irs_problem
from tests.scheduling.irs.problems import surface_problem

TAKERS = [name for name, scheduler in IRS_SCHEDULERS.items() if scheduler.takes_priorities]
VARIANTS = [
    pytest.param(name, parameters, id=f"{name}-{parameters}")
    for name in TAKERS
    for parameters in IRS_SCHEDULERS[name].variants()
]


def every_choice(problem):
    """Yield the problem without a surface for every choice of the phases on a grid."""
    levels = np.exp(2j * np.pi * np.arange(2**problem.phase_bits) / 2**problem.phase_bits)
    for phases in product(levels, repeat=problem.elements):
        yield problem.tuned(np.array(phases))


def prioritised(rng, **fixed):
    devices = fixed.get("devices", 10)
    return surface_problem(rng, priorities=10 ** rng.uniform(-1, 1, devices), **fixed)


def value(problem, schedule):
    return float(problem.priorities[schedule.active].sum())


def test_who_takes_them():
    assert TAKERS == ["dual_pursuit", "matching_pursuit"]


@pytest.mark.parametrize(("name", "parameters"), VARIANTS)
def test_equal_priorities_change_nothing_bit_for_bit(name, parameters):
    rng = np.random.default_rng(80)
    for seed in range(6):
        plain = random_irs_problem(rng)
        equal = replace(plain, priorities=np.full(plain.devices, 0.7))
        one, other = (solve(p, name, parameters, seed=seed) for p in (plain, equal))
        assert one.active.tobytes() == other.active.tobytes()
        assert one.transmit_scalars.tobytes() == other.transmit_scalars.tobytes()
        assert one.phases.tobytes() == other.phases.tobytes()
        assert one.iterations == other.iterations


@pytest.mark.parametrize(("name", "parameters"), VARIANTS)
@pytest.mark.parametrize("bits", [None, 2])
def test_only_their_ratios_matter(name, parameters, bits):
    problem = prioritised(np.random.default_rng(81), phase_bits=bits)
    scaled = replace(problem, priorities=problem.priorities * 1024)
    one, other = (solve(p, name, parameters) for p in (problem, scaled))
    assert one.active.tolist() == other.active.tolist()
    assert one.phases.tobytes() == other.phases.tobytes()


@pytest.mark.parametrize("preferred", [0, 1])
def test_the_device_of_higher_priority_is_served(preferred):
    """Two devices in different directions, and an element that adds a little to both."""
    priorities = np.full(2, 1e-3)
    priorities[preferred] = 1e3
    problem = IrsProblem(
        np.eye(2),
        np.full((2, 1), 0.1),
        np.full((1, 2), 0.1),
        np.ones(2),
        1.0,
        priorities=priorities,
    )
    assert solve(problem, "dual_pursuit").active.tolist() == [preferred]


def test_value_beside_every_choice_of_phases():
    """Three elements of two phases each: the proven optimum for each of the eight choices."""
    rng = np.random.default_rng(82)
    least = {"dual_pursuit": 0.98, "matching_pursuit": 0.6}
    total = dict.fromkeys(["best", *least], 0.0)
    for gamma_db in (-6, -3):
        for seed in range(12):
            problem = prioritised(rng, gamma_db=gamma_db, elements=3, devices=8, phase_bits=1)
            best = max(tuned.as_answered(most_value(tuned)) for tuned in every_choice(problem))
            total["best"] += best
            for name in least:
                schedule = solve(problem, name, seed=seed, bound=True)
                assert value(problem, schedule) <= best * (1 + 1e-9)
                assert best <= schedule.upper_bound * (1 + 1e-9)
                total[name] += value(problem, schedule)
    for name, share in least.items():
        assert total[name] >= share * total["best"], (name, total[name] / total["best"])


def test_priorities_gain_value():
    rng = np.random.default_rng(83)
    gained = 0.0
    for seed in range(10):
        problem = prioritised(rng)
        counting = solve(replace(problem, priorities=None), "dual_pursuit", seed=seed)
        valuing = solve(problem, "dual_pursuit", seed=seed)
        assert valuing.active.size <= counting.active.size
        gained += value(problem, valuing) - value(problem, counting)
    assert gained > 0


@pytest.mark.parametrize("name", sorted(IRS_SCHEDULERS.keys() - set(TAKERS)))
def test_others_refuse(name):
    problem = surface_problem(np.random.default_rng(84), priorities=np.ones(10))
    with pytest.raises(InvalidProblemError, match="takes no priorities") as caught:
        solve(problem, name)
    assert caught.value.field == "priorities"


def test_invalid_priorities():
    with pytest.raises(InvalidProblemError) as caught:
        surface_problem(np.random.default_rng(85), priorities=np.zeros(10))
    assert caught.value.field == "priorities"
