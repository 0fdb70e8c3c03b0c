"""Solutions of the lifted problem: within the gap, and served where they say so."""

import math

import numpy as np
import pytest

from app.scheduling import conic
from app.scheduling.conic import SolverFailedError, solve_conic
from app.scheduling.kernels.lifted.solver import SOLVED, solve_lifted
from lab.channels import iid_channels

ANTENNAS = 4
ANYWHERE = np.zeros((ANTENNAS, ANTENNAS), np.complex128)


def gains(rows, matrix):
    return np.einsum("kn,nm,km->k", rows.conj(), matrix, rows).real


@pytest.mark.parametrize("devices", [1, 30, 200])
@pytest.mark.parametrize("gap", [1e-1, 3e-2, 1e-2, 1e-3])
def test_primal_minus_dual_is_within_the_gap(devices, gap):
    """The barrier of a device counts as much as that of an antenna, also when there are many."""
    rng = np.random.default_rng(devices)
    for _ in range(3):
        rows = 2 * iid_channels(rng, devices, ANTENNAS)
        weights = rng.uniform(0.2, 1.0, devices)
        direction = rows[0] / np.linalg.norm(rows[0])
        linear = np.eye(ANTENNAS) - np.outer(direction, direction.conj())
        status, matrix, dual = solve_lifted(rows, weights, linear, gap)
        assert status == SOLVED
        slacks = np.maximum(0, 1 - gains(rows, matrix))
        primal = np.trace(linear @ matrix).real + weights @ slacks
        assert -1e-9 <= primal - dual <= gap


def test_a_hard_solution_with_slack_is_a_failure(monkeypatch):
    """A general solver that ends too early has a solution that does not serve everyone."""
    everyone = np.full(8, math.inf)
    accepted = refused = 0
    for seed in range(4):
        rows = 1.3 * iid_channels(np.random.default_rng(seed), 8, ANTENNAS)
        for iterations in (1, 5, 20, 200):
            monkeypatch.setitem(conic._ATTEMPTS, "scs", ({"max_iters": iterations},))
            assert solve_conic(rows, np.ones(8), ANYWHERE, "scs") is not None
            try:
                matrix = solve_conic(rows, everyone, ANYWHERE, "scs")
            except SolverFailedError:
                matrix = None
                refused += 1
                continue
            if matrix is not None:
                accepted += 1
                assert gains(rows, matrix).min() >= 1 - 1e-4
        servable = solve_lifted(rows, everyone, ANYWHERE, 1e-6)[0] == SOLVED
        assert (matrix is not None) == servable
    assert accepted
    assert refused
