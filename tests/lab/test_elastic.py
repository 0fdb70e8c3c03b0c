"""Elastic dropping, the rival for many devices: what it says is served is served."""

import numpy as np

from app.scheduling import Problem, solve
from lab.problems import iid_problems
from lab.rivals.elastic import most_served


def test_never_more_than_the_optimum_and_not_far_below():
    found = optimum = 0
    for seed, problem in enumerate(iid_problems(10, 4, 12, -2, seed=305)):
        best = solve(problem, "optimal").active.size
        own = most_served(problem, seed)
        assert own <= best
        found, optimum = found + own, optimum + best
    assert found >= 0.8 * optimum


def test_everyone_or_nobody():
    assert most_served(Problem(np.ones((2, 5)), np.ones(5), 1.0), 0) == 5
    assert most_served(Problem(np.full((2, 5), 0.1), np.ones(5), 1.0), 0) == 0
