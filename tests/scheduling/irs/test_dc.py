"""The programme of the phases against a general cone solver, and what alternating gains."""

import warnings

import numpy as np
import pytest

from app.scheduling import InvalidProblemError, solve
from app.scheduling.irs.lifted_phases import GAP, lifted_phases
from lab.channels import iid_channels
from tests.scheduling.irs.problems import surface_problem


def reference_value(rows, weights, linear):
    cvxpy = pytest.importorskip("cvxpy")
    devices, size = rows.shape
    matrix = cvxpy.Variable((size, size), hermitian=True)
    slacks = cvxpy.Variable(devices, nonneg=True)
    constraints = [matrix >> 0, cvxpy.real(cvxpy.diag(matrix)) == 1]
    constraints += [
        1 - cvxpy.real(row.conj() @ matrix @ row) <= slacks[k] for k, row in enumerate(rows)
    ]
    cost = cvxpy.real(cvxpy.trace(linear @ matrix)) + weights @ slacks
    programme = cvxpy.Problem(cvxpy.Minimize(cost), constraints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        programme.solve(solver="CLARABEL")
    return float(programme.value)


@pytest.mark.parametrize("scale", [0.1, 0.3, 1.0, 10.0])
@pytest.mark.parametrize(("elements", "devices"), [(1, 3), (4, 6), (10, 4)])
def test_programme_agrees_with_a_general_solver(elements, devices, scale):
    rng = np.random.default_rng(110)
    rows = iid_channels(rng, devices, elements + 1) * scale
    weights = rng.uniform(0.2, 1.0, devices)
    near = np.exp(2j * np.pi * rng.random(elements + 1))
    size = near.size
    linear = (np.eye(size) - np.outer(near, near.conj()) / size) / size
    matrix = lifted_phases(rows, weights, near)
    np.testing.assert_allclose(np.diag(matrix), 1, atol=1e-3)
    assert np.linalg.eigvalsh(matrix)[0] >= -1e-9
    slacks = np.maximum(0, 1 - np.sum((rows.conj() @ matrix) * rows, axis=1).real)
    value = np.trace(linear @ matrix).real + weights @ slacks
    assert value == pytest.approx(reference_value(rows, weights, linear), abs=2 * GAP)


def test_alternating_is_never_worse_than_the_receiver_alone_and_better_on_average():
    rng = np.random.default_rng(111)
    gained = 0
    for _ in range(8):
        problem = surface_problem(rng, -5)
        tuned = solve(problem, "dc").active.size
        untuned = solve(problem.tuned(problem.start()), "dc").active.size
        assert tuned >= untuned
        gained += tuned - untuned
    assert gained >= 8


def test_dual_pursuit_schedules_at_least_as_many_on_average():
    rng = np.random.default_rng(112)
    problems = [surface_problem(rng, gamma_db) for gamma_db in (-12, -9, -6, -3) for _ in range(4)]
    dual = sum(solve(problem, "dual_pursuit").active.size for problem in problems)
    assert dual >= sum(solve(problem, "dc").active.size for problem in problems)


def test_size_is_limited():
    rng = np.random.default_rng(113)
    with pytest.raises(InvalidProblemError, match="dc takes at most 128 elements, not 129"):
        solve(surface_problem(rng, elements=129), "dc")
