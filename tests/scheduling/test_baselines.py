"""The baselines against oracles that share no code with them."""

import itertools
import math
import warnings

import cvxpy
import numpy as np
import pytest

from app.scheduling import (
    InvalidProblemError,
    Problem,
    solve,
)
from app.scheduling import lifted as lifted_module
from app.scheduling.conic import SolverFailedError, solve_conic
from app.scheduling.kernels.lifted.solver import FAILED, INFEASIBLE, SOLVED, solve_lifted
from app.scheduling.schedulers.dc import DcParameters
from app.scheduling.schedulers.sdr import SdrParameters
from app.scheduling.servability import Servability
from lab.channels import random_unitary
from lab.oracles.exhaustive import most_devices
from tests.scheduling.formulas import worst_error

BASELINES = ("dc", "sdr", "random", "round_robin", "proportional_fair")
ORDERED = ("random", "round_robin", "proportional_fair")


def rayleigh(seed, antennas, devices):
    rng = np.random.default_rng(seed)
    parts = rng.standard_normal((2, antennas, devices))
    return (parts[0] + 1j * parts[1]) / math.sqrt(2)


def round_of(seed, antennas=4, devices=8, gamma_db=0.0, weighted=False, csi_error=0.0):
    rng = np.random.default_rng(seed + 1000)
    weights = rng.uniform(0.4, 1.6, devices) if weighted else np.ones(devices)
    channels = rayleigh(seed, antennas, devices)
    return Problem(channels, weights, 10 ** (gamma_db / 10), csi_error=csi_error)


def within_reach(problem):
    norms = np.linalg.norm(problem.channels, axis=0) ** 2
    return norms >= problem.required_gains


def assert_serves(problem, schedule):
    """The tolerance from its definition, with the problem's own numbers."""
    if schedule.active.size == 0:
        return
    responses = np.abs(problem.channels[:, schedule.active].conj().T @ schedule.receiver)
    needed = problem.weights[schedule.active] / math.sqrt(problem.gamma)
    assert np.all(responses >= needed * (1 - 1e-8))
    assert worst_error(problem, schedule) <= problem.max_error * (1 + 1e-8)


# Every baseline


@pytest.mark.parametrize("algorithm", BASELINES)
@pytest.mark.parametrize("gamma_db", [-7, -3, 1, 6, 30])
@pytest.mark.parametrize("variant", [{}, {"weighted": True}, {"csi_error": 0.15}])
def test_schedules_are_feasible(algorithm, gamma_db, variant):
    for seed in range(4):
        problem = round_of(seed, gamma_db=gamma_db, **variant)
        assert_serves(problem, solve(problem, algorithm))


@pytest.mark.parametrize("algorithm", BASELINES)
def test_nobody_in_reach_is_an_empty_schedule(algorithm):
    schedule = solve(Problem(0.1 * rayleigh(0, 3, 5), np.ones(5), 0.01), algorithm)
    assert schedule.active.size == 0
    assert not schedule.feasible


@pytest.mark.parametrize("algorithm", BASELINES)
@pytest.mark.parametrize(
    ("channels", "expected"),
    [
        (np.array([[2.0]]), 1),
        (np.array([[2.0, 1.0, 0.5, 0.0]]), 2),
        (np.array([[2.0], [1.0j]]), 1),
        (2 * np.eye(4), 4),
        (np.outer([1, 1j, -1], [2, 1j, 0.0, -3]), 3),
        (np.array([[1e9, 1e-9], [1.0, 1e-9]]), 1),
    ],
    ids=["K=N=1", "N=1", "K=1", "orthogonal", "rank one", "wide range"],
)
def test_degenerate_channels(algorithm, channels, expected):
    schedule = solve(Problem(channels, np.ones(channels.shape[1]), 1.0), algorithm)
    assert schedule.active.size == expected


@pytest.mark.parametrize("algorithm", BASELINES)
def test_scale_of_power_does_not_matter(algorithm):
    problem = round_of(3, weighted=True)
    tiny = Problem(1e-20 * problem.channels, 1e-20 * problem.weights, problem.gamma)
    expected = solve(problem, algorithm).active
    assert np.array_equal(solve(tiny, algorithm).active, expected)


@pytest.mark.parametrize("algorithm", BASELINES)
def test_same_seed_same_schedule(algorithm):
    problem = round_of(5, gamma_db=-2)
    first, second = (solve(problem, algorithm, seed=7) for _ in range(2))
    assert np.array_equal(first.active, second.active)
    assert np.array_equal(first.receiver, second.receiver)


@pytest.mark.parametrize("antennas", [2, 4])
@pytest.mark.parametrize("gamma_db", [-6, -3, 0, 3])
def test_nothing_beats_exhaustive(antennas, gamma_db):
    for seed in range(10):
        problem = round_of(seed, antennas, 9, gamma_db, weighted=seed % 2 == 1)
        optimum = most_devices(problem)
        for algorithm in ("matching_pursuit", "dc", "sdr", *ORDERED):
            assert solve(problem, algorithm).active.size <= optimum


# The interior-point method


def reference_value(rows, weights, linear):
    """The optimum by another formulation and another solver; None if infeasible."""
    devices, antennas = rows.shape
    matrix = cvxpy.Variable((antennas, antennas), hermitian=True)
    slacks = cvxpy.Variable(devices, nonneg=True)
    gains = [cvxpy.real(row.conj() @ matrix @ row) for row in rows]
    hard = np.isinf(weights)
    constraints = [matrix >> 0, cvxpy.real(cvxpy.trace(matrix)) == 1]
    constraints += [1 - gains[k] <= (0 if hard[k] else slacks[k]) for k in range(devices)]
    cost = cvxpy.real(cvxpy.trace(linear @ matrix)) + np.where(hard, 0, weights) @ slacks
    programme = cvxpy.Problem(cvxpy.Minimize(cost), constraints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        programme.solve(solver="CLARABEL")
    return None if programme.status.startswith("infeasible") else float(programme.value)


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize(("antennas", "devices"), [(1, 3), (2, 6), (4, 10)])
@pytest.mark.parametrize("gamma_db", [-1, 4, 25])
def test_lifted_problem_agrees_with_a_general_solver(antennas, devices, gamma_db, hard):
    problem = round_of(14, antennas, devices, gamma_db)
    rows, _ = lifted_module.servable_rows(problem)
    weights = np.random.default_rng(0).uniform(0.2, 1.0, rows.shape[0])
    if hard:
        weights[:] = math.inf
    direction = rows[0] / np.linalg.norm(rows[0])
    linear = np.eye(antennas) - np.outer(direction, direction.conj())
    status, matrix, value = solve_lifted(rows, weights, linear, 1e-6)
    expected = reference_value(rows, weights, linear)
    if expected is None:
        assert status == INFEASIBLE
        return
    assert status == SOLVED
    assert value == pytest.approx(expected, abs=1e-5)
    assert np.trace(matrix).real == pytest.approx(1)
    assert np.linalg.eigvalsh(matrix).min() >= 0
    shortfalls = 1 - np.einsum("kn,nm,km->k", rows.conj(), matrix, rows).real
    if hard:
        assert shortfalls.max() <= 1e-8
    else:
        cost = np.trace(linear @ matrix).real + weights @ np.maximum(0, shortfalls)
        assert value <= cost + 1e-9
        assert cost == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("solver", ["clarabel", "scs"])
@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize(("antennas", "devices"), [(1, 3), (3, 7), (6, 20)])
def test_general_solvers_agree_with_the_interior_point_method(solver, antennas, devices, hard):
    for seed in range(4):
        problem = round_of(seed, antennas, devices, 1 if antennas > 1 else 9, weighted=True)
        rows, _ = lifted_module.servable_rows(problem)
        rng = np.random.default_rng(seed)
        left_out = rng.random(rows.shape[0]) < 0.4
        weights = np.where(left_out, 0.0, math.inf if hard else 1.0)
        direction = rng.standard_normal(antennas) + 1j * rng.standard_normal(antennas)
        direction /= np.linalg.norm(direction)
        linear = np.eye(antennas) - np.outer(direction, direction.conj())
        status, _, value = solve_lifted(rows[~left_out], weights[~left_out], linear, 1e-6)
        try:
            matrix = solve_conic(rows, weights, linear, solver)
        except SolverFailedError:
            # Near the border of what is feasible; it says neither that there is one nor that not.
            matrix = None
        if status == INFEASIBLE:
            assert matrix is None
            continue
        assert status == SOLVED
        assert np.trace(matrix).real == pytest.approx(1)
        assert np.linalg.eigvalsh(matrix).min() >= -1e-12
        shortfalls = 1 - np.einsum("kn,nm,km->k", rows.conj(), matrix, rows).real
        slacks = 0 if hard else weights @ np.maximum(0, shortfalls)
        assert np.trace(linear @ matrix).real + slacks == pytest.approx(value, abs=2e-5)


def test_general_solvers_refuse_what_would_take_them_minutes():
    problem = round_of(0, 32, 100, 10)
    with pytest.raises(InvalidProblemError, match="at most 48 devices at 32 antennas"):
        solve(problem, "sdr", SdrParameters(solver="clarabel"))


def test_a_general_solver_that_fails_is_no_answer(monkeypatch):
    def broken(self, *arguments, **options):
        raise cvxpy.SolverError

    problem = round_of(2, gamma_db=2)
    monkeypatch.setattr(cvxpy.Problem, "solve", broken)
    for name, parameters in (
        ("sdr", SdrParameters(solver="scs")),
        ("dc", DcParameters(solver="scs")),
    ):
        # A failure is not a proof: whoever can be served alone is.
        assert solve(problem, name, parameters).active.size >= 1


# dc and sdr


@pytest.mark.parametrize(("gamma_db", "least"), [(-4, 9.0), (-1, 15.3), (2, 19.2)])
def test_dc_serves_what_a_converged_dc_should(gamma_db, least):
    dc, pursuit = [], []
    for seed in range(25):
        problem = round_of(seed, 6, 20, gamma_db)
        dc.append(solve(problem, "dc").active.size)
        pursuit.append(solve(problem, "matching_pursuit").active.size)
    assert np.mean(dc) >= least
    assert np.mean(dc) > np.mean(pursuit) + 2


def failing(rows, weights, linear, gap):
    return FAILED, np.full(linear.shape, np.nan + 0j), math.nan


def singular(rows, weights, linear, gap):
    raise np.linalg.LinAlgError


@pytest.mark.parametrize("broken", [failing, singular])
def test_a_failing_solver_is_never_believed(monkeypatch, broken):
    problem = round_of(2, gamma_db=2)
    monkeypatch.setattr(lifted_module, "solve_lifted", broken)
    for algorithm in ("dc", "sdr"):
        # A failure is not a proof: whoever can be served alone is.
        assert solve(problem, algorithm).active.size >= 1
    assert solve(problem, "sdr").stopped == "limit"


def test_a_failed_programme_says_nothing_about_longer_prefixes(monkeypatch):
    """The first prefix that is tried fails; longer ones are tried nevertheless."""
    problem = round_of(4, 6, 12, 3)
    assert solve(problem, "dc").active.size == 12
    hard = []

    def once(rows, weights, linear, gap):
        if np.isinf(weights).any():
            hard.append(rows.shape[0])
            if len(set(hard)) == 1:
                return failing(rows, weights, linear, gap)
        else:
            # The relaxation serves few: the prefixes decide.
            return SOLVED, np.diag([1.0, 0, 0, 0, 0, 0]).astype(complex), 0.0
        return solve_lifted(rows, weights, linear, gap)

    monkeypatch.setattr(lifted_module, "solve_lifted", once)
    solve(problem, "dc", DcParameters(max_iterations=1))
    assert max(hard) > hard[0]


def test_dc_goes_on_after_a_failed_programme(monkeypatch):
    calls = itertools.count()

    def sometimes(*arguments):
        return failing(*arguments) if next(calls) % 7 >= 5 else solve_lifted(*arguments)

    problem = round_of(4, 6, 20, -2)
    monkeypatch.setattr(lifted_module, "solve_lifted", sometimes)
    assert solve(problem, "dc").active.size > solve(problem, "matching_pursuit").active.size


@pytest.mark.parametrize("gamma_db", [-3, 0, 3])
def test_sdr_does_not_depend_on_the_order_of_devices_or_the_antennas_basis(gamma_db):
    problem = round_of(8, 6, 20, gamma_db, weighted=True)
    rng = np.random.default_rng(8)
    order = rng.permutation(problem.devices)
    turned = random_unitary(rng, 6) @ problem.channels[:, order]
    other = solve(Problem(turned, problem.weights[order], problem.gamma), "sdr")
    assert sorted(order[other.active]) == solve(problem, "sdr").active.tolist()


def test_prefix_reading_of_sdr_is_within_the_other():
    for seed in range(20):
        problem = round_of(seed, gamma_db=-1)
        served = solve(problem, "sdr").active
        prefix = solve(problem, "sdr", SdrParameters(reading="prefix")).active
        assert set(prefix) <= set(served)


# Servability, exhaustive


def bracket(problem):
    """Bounds of the optimum for two antennas, from a grid over all receivers.

    A receiver lies within ``radius`` of a point of the grid, so its responses differ from that
    point's by at most ``radius`` times the channel's norm.
    """
    steps = 300
    angles = (np.arange(steps) + 0.5) * (math.pi / 2 / steps)
    phases = np.arange(2 * steps) * (math.pi / steps)
    radius = math.hypot(math.pi / 4 / steps, math.pi / 2 / steps)
    first = np.cos(angles)[:, None] * np.ones(2 * steps)
    second = np.sin(angles)[:, None] * np.exp(1j * phases)
    receivers = np.stack([first, second], axis=-1)
    responses = np.abs(receivers.conj() @ problem.channels)
    needed = np.sqrt(problem.required_gains)
    slack = radius * np.linalg.norm(problem.channels, axis=0)
    lower = np.count_nonzero(responses >= needed, axis=-1).max()
    upper = np.count_nonzero(responses + slack >= needed, axis=-1).max()
    return lower, upper


@pytest.mark.parametrize("gamma_db", [-4, -1, 2, 5])
def test_exhaustive_is_the_optimum_for_two_antennas(gamma_db):
    tight = 0
    for seed in range(10):
        problem = round_of(seed, 2, 6, gamma_db, weighted=seed % 2 == 1)
        lower, upper = bracket(problem)
        optimum = most_devices(problem)
        assert lower <= optimum <= upper
        tight += lower == upper
    assert tight >= 8


@pytest.mark.parametrize("gamma_db", [-4, 0])
def test_exhaustive_is_the_best_of_all_subsets(gamma_db):
    for seed in range(5):
        problem = round_of(seed, 3, 6, gamma_db, weighted=True)
        servability = Servability(problem, starts=50)
        best = 0
        for size in range(1, 7):
            for members in itertools.combinations(range(6), size):
                if servability.receiver(np.array(members)) is not None:
                    best = size
        assert most_devices(problem) == best


def test_servability_of_sets_known_to_be_servable():
    for seed in range(30):
        channels = rayleigh(seed, 4, 12)
        receiver = rayleigh(seed + 500, 4, 1)[:, 0]
        receiver /= np.linalg.norm(receiver)
        gains = np.abs(channels.conj().T @ receiver) ** 2
        # The weights are such that this very receiver just serves everyone.
        problem = Problem(channels, np.sqrt(gains) * 0.999, 1.0)
        found = Servability(problem).receiver(np.arange(12))
        assert found is not None
        assert problem.served(found).all()


def test_servability_is_monotone():
    problem = round_of(6, 4, 10, -1)
    servability = Servability(problem)
    order = np.random.default_rng(0).permutation(servability.devices)
    answers = [servability.receiver(order[: n + 1]) is not None for n in range(order.size)]
    assert answers == sorted(answers, reverse=True)
