"""The scheduler optimal: as many devices as any other finds, proven, or an honest bound."""

from dataclasses import replace

import numpy as np
import pytest

from app.scheduling import SCHEDULERS, Problem, solve
from app.scheduling.schedulers import optimal
from lab.oracles.exhaustive import most_value
from lab.problems import iid_problems, network_problems, random_problem

OTHERS = [name for name, found in SCHEDULERS.items() if found.keeps_tolerance]


def unit(vector):
    return vector / np.linalg.norm(vector)


@pytest.mark.parametrize("problems", [iid_problems, network_problems])
@pytest.mark.parametrize("gamma_db", [-4, 0, 4])
def test_at_least_as_many_as_every_other(problems, gamma_db):
    for problem in problems(3, 4, 10, gamma_db, seed=40):
        schedule = solve(problem, "optimal")
        assert schedule.stopped == "converged"
        assert schedule.optimal
        assert schedule.upper_bound == schedule.active.size
        for name in OTHERS:
            assert solve(problem, name).active.size <= schedule.active.size


def test_the_number_does_not_depend_on_the_seed_or_the_start():
    (problem,) = iid_problems(1, 6, 16, -1, seed=41)
    sizes = {
        solve(problem, "optimal", seed=seed, warm_start=start).active.size
        for seed in range(3)
        for start in (None, np.ones(6, complex))
    }
    assert len(sizes) == 1


def test_it_finds_what_dual_pursuit_misses(monkeypatch):
    """With a poor schedule to start from, the search alone finds the most devices."""
    monkeypatch.setattr(optimal, "pursue", lambda problem, _: (unit(problem.channels[:, 0]), 1, 0))
    for problem in iid_problems(4, 6, 14, -2, seed=42):
        expected = solve(problem, "dual_pursuit", SCHEDULERS["dual_pursuit"].parameters(starts=50))
        schedule = solve(problem, "optimal")
        assert schedule.optimal
        assert schedule.active.size >= expected.active.size > 1


def test_stopped_early_it_answers_its_best_with_a_bound(monkeypatch):
    (problem,) = iid_problems(1, 8, 40, -1, seed=43)
    stop = np.zeros(1, np.bool_)
    found = solve(problem, "dual_pursuit")

    def pursue(problem, context):
        stop[0] = True
        return found.receiver, found.active.size, 0

    monkeypatch.setattr(optimal, "pursue", pursue)
    schedule = solve(problem, "optimal", stop=stop)
    assert schedule.stopped == "deadline"
    assert schedule.active.size >= found.active.size
    assert schedule.active.size <= schedule.upper_bound <= 40


def test_nobody_can_be_served():
    schedule = solve(Problem(np.zeros((2, 3)), np.ones(3), 1.0), "optimal")
    assert (schedule.active.size, schedule.upper_bound, schedule.optimal) == (0, 0, True)


def prioritised(rng, devices):
    """Problems of every kind, with priorities over few and many decades, also repeated ones."""
    problem = random_problem(rng, devices)
    choices = (
        10 ** rng.uniform(-1, 1, problem.devices),
        10 ** rng.uniform(-6, 6, problem.devices),
        rng.integers(1, 4, problem.devices).astype(float),
    )
    return replace(problem, priorities=choices[rng.integers(3)])


def test_with_priorities_it_is_the_exhaustive_optimum():
    rng = np.random.default_rng(46)
    for _ in range(60):
        problem = prioritised(rng, 9)
        best = problem.as_answered(most_value(problem))
        schedule = solve(problem, "optimal")
        assert schedule.optimal
        assert schedule.upper_bound == pytest.approx(best, rel=1e-8)
        assert problem.priorities[schedule.active].sum() == pytest.approx(best, rel=1e-8)


def test_a_bound_with_priorities_is_never_below_what_is_served():
    rng = np.random.default_rng(47)
    for _ in range(40):
        problem = prioritised(rng, 20)
        schedule = solve(problem, "matching_pursuit", bound=True, bound_ms=3.0)
        served = problem.priorities[solve(problem, "dual_pursuit").active].sum()
        assert schedule.upper_bound >= served * (1 - 1e-9)
        assert schedule.optimal == (
            problem.priorities[schedule.active].sum() >= schedule.upper_bound * (1 - 1e-9)
        )


def test_a_stopped_proof_with_priorities_still_bounds():
    rng = np.random.default_rng(48)
    (problem,) = iid_problems(1, 8, 50, -1, seed=48)
    problem = replace(problem, priorities=rng.uniform(0.1, 1.0, 50))
    served = solve(problem, "dual_pursuit", bound=True, bound_ms=20.0)
    assert served.upper_bound >= problem.priorities[served.active].sum()
    assert served.upper_bound <= problem.priorities.sum()


def test_exhaustive_is_another_name():
    assert "Deprecated" in SCHEDULERS["exhaustive"].summary
    for problem in iid_problems(3, 4, 10, -2, seed=49):
        one, other = solve(problem, "optimal"), solve(problem, "exhaustive")
        assert one.active.tobytes() == other.active.tobytes()
        assert one.receiver.tobytes() == other.receiver.tobytes()
