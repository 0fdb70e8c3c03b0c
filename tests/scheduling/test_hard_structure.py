"""Channels far from independent fading: dual pursuit beside the proven optimum."""

import numpy as np
import pytest

from app.scheduling import Problem, solve
from experiments.studies.hard_structure import SMALL, STRUCTURES


@pytest.mark.parametrize("name", STRUCTURES)
def test_share_of_the_optimum(name):
    """``python -m experiments.studies hard_structure`` measures it on more channels."""
    draw, gammas_db = STRUCTURES[name]
    served = optimum = 0
    for seed in range(6):
        channels = draw(np.random.default_rng([306, seed]), 6, 16)
        for gamma_db in gammas_db[SMALL]:
            problem = Problem(channels, np.ones(16), 10 ** (gamma_db / 10))
            proven = solve(problem, "optimal")
            assert proven.upper_bound == proven.active.size
            optimum += proven.active.size
            served += solve(problem, "dual_pursuit", seed=seed).active.size
    assert 0.97 * optimum <= served <= optimum
