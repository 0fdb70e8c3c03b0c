"""Cells against oracles that do not change coordinates: a general solver, and simulation."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize

from app.scheduling import (
    InvalidProblemError,
    IrsProblem,
    Problem,
    VerificationError,
    solve,
    verify,
)
from app.scheduling.cells.cell import Cell, state
from app.scheduling.cells.transform import checked_covariance
from lab.channels import iid_channels

SEEDS = range(6)


def covariance(rng, antennas, interferers=2, strength=4.0):
    columns = np.sqrt(strength) * iid_channels(rng, antennas, interferers)
    return columns @ columns.conj().T + np.eye(antennas)


def stated(seed, antennas=3, devices=6, gamma=2.0, **options):
    rng = np.random.default_rng(seed)
    channels = iid_channels(rng, antennas, devices)
    weights = 10 ** rng.uniform(-0.2, 0.2, devices)
    power = 10 ** rng.uniform(-0.7, 0.7, devices)
    noise = covariance(rng, antennas)
    problem = Problem(
        channels,
        weights,
        gamma,
        power=float(power.max()),
        noise_variance=float(np.trace(noise).real / antennas),
        **options,
    )
    return problem, power, noise


def least_error(problem, power, noise, members, rng, starts=12):
    """Return the least max_k φ_k² cᴴRc/(P_k|h_kᴴc|²) over c, by a general solver."""
    channels, weights = problem.channels[:, members], problem.weights[members]
    antennas = channels.shape[0]

    def receiver(x):
        return x[:antennas] + 1j * x[antennas:-1]

    def margins(x):
        gains = power[members] * np.abs(receiver(x).conj() @ channels) ** 2 / weights**2
        return gains - x[-1]

    def norm(x):
        c = receiver(x)
        return 1 - (c.conj() @ noise @ c).real

    best = np.inf
    for _ in range(starts):
        x = np.append(rng.standard_normal(2 * antennas), 0.0)
        x[:-1] /= np.sqrt(1 - norm(x) + 1e-12)
        found = minimize(
            lambda x: -x[-1],
            x,
            constraints=[{"type": "ineq", "fun": margins}, {"type": "ineq", "fun": norm}],
            method="SLSQP",
            options={"maxiter": 200},
        )
        c = receiver(found.x)
        gains = power[members] * np.abs(c.conj() @ channels) ** 2 / weights**2
        if gains.min() > 0:
            best = min(best, (c.conj() @ noise @ c).real / gains.min())
    return best


def largest_set(problem, power, noise, seed):
    """Return the size of the largest set with an error within the tolerance."""
    rng = np.random.default_rng(seed)
    for size in range(problem.devices, 0, -1):
        for members in combinations(range(problem.devices), size):
            if least_error(problem, power, noise, list(members), rng) <= problem.max_error:
                return size
    return 0


@pytest.mark.parametrize("seed", SEEDS)
def test_as_many_devices_as_a_general_solver_finds(seed):
    problem, power, noise = stated(seed, antennas=2, devices=4, gamma=0.6)
    cell = state(problem, power=power, noise_covariance=noise)
    schedule = solve(cell, "optimal")
    assert schedule.active.size == largest_set(problem, power, noise, seed)
    assert schedule.upper_bound == schedule.active.size


@pytest.mark.parametrize("method", ["zero_forcing", "mmse"])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_simulated_error_is_the_reported_one(seed, method):
    problem, power, noise = stated(seed)
    cell = state(problem, power=power, noise_covariance=noise)
    schedule = solve(cell, "dual_pursuit", coordination=method)
    active, scalars = schedule.active, schedule.transmit_scalars
    assert (np.abs(scalars) ** 2 <= power * (1 + 1e-9)).all()
    rng = np.random.default_rng(100 + seed)
    draws = 40_000
    symbols = iid_channels(rng, active.size, draws)
    hiss = np.linalg.cholesky(noise) @ iid_channels(rng, problem.antennas, draws)
    received = problem.channels[:, active] @ (scalars[active, None] * symbols) + hiss
    estimate = schedule.receiver.conj() @ received / np.sqrt(schedule.power_factor)
    errors = np.abs(estimate - problem.weights[active] @ symbols) ** 2
    standard_error = errors.std() / np.sqrt(draws)
    assert errors.mean() == pytest.approx(schedule.computation_error, abs=4 * standard_error)


@pytest.mark.parametrize("algorithm", ["matching_pursuit", "dual_pursuit", "all_devices", "dc"])
def test_power_limits_are_those_of_scaled_channels(algorithm):
    problem, power, _ = stated(3)
    cell = state(problem, power=power)
    schedule = solve(cell, algorithm)
    scaled = Problem(
        problem.channels * np.sqrt(power / problem.power),
        problem.weights,
        problem.gamma,
        problem.power,
        problem.noise_variance,
    )
    assert np.array_equal(schedule.active, solve(scaled, algorithm).active)


def test_few_dimensions_give_the_same_schedules():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        problem = Problem(iid_channels(rng, 24, 5), np.ones(5), gamma=0.08)
        cell = state(problem)
        assert isinstance(cell, Cell)
        assert cell.standard.channels.shape == (5, 5)
        for algorithm in ("matching_pursuit", "optimal"):
            small, large = solve(cell, algorithm), solve(problem, algorithm)
            assert np.array_equal(small.active, large.active)
            if algorithm == "matching_pursuit" and small.active.size:
                assert small.computation_error == pytest.approx(large.computation_error, rel=1e-6)


def test_a_cell_like_the_standard_one_is_left_alone():
    problem = Problem(np.eye(3), np.ones(3), gamma=1.0)
    assert state(problem) is problem


@pytest.mark.parametrize("seed", SEEDS)
def test_excluded_devices_are_columns_that_do_not_exist(seed):
    problem, _, _ = stated(seed, antennas=3, devices=7)
    rest = np.array([0, 2, 3, 6])
    cell = state(problem, excluded=np.array([1, 4, 5]))
    schedule = solve(cell, "dual_pursuit")
    smaller = Problem(
        problem.channels[:, rest],
        problem.weights[rest],
        problem.gamma,
        problem.power,
        problem.noise_variance,
    )
    expected = solve(smaller, "dual_pursuit")
    assert np.array_equal(schedule.active, rest[expected.active])
    assert schedule.transmit_scalars.shape == (7,)
    assert schedule.computation_error == expected.computation_error


@pytest.mark.parametrize("seed", SEEDS)
def test_a_surface_in_a_cell(seed):
    rng = np.random.default_rng(seed)
    antennas, elements, devices = 3, 4, 5
    noise = covariance(rng, antennas)
    power = 10 ** rng.uniform(-0.5, 0.5, devices)
    problem = IrsProblem(
        iid_channels(rng, antennas, devices),
        iid_channels(rng, antennas, elements),
        iid_channels(rng, elements, devices),
        np.ones(devices),
        gamma=1.0,
        power=float(power.max()),
        noise_variance=float(np.trace(noise).real / antennas),
    )
    cell = state(problem, power=power, noise_covariance=noise, excluded=np.array([2]))
    schedule = solve(cell, "dual_pursuit")
    tuned = problem.tuned(schedule.phases).channels[:, schedule.active]
    assert 2 not in schedule.active
    scalars = schedule.transmit_scalars[schedule.active]
    received = schedule.receiver.conj() @ tuned * scalars / np.sqrt(schedule.power_factor)
    assert received == pytest.approx(np.ones(schedule.active.size), rel=1e-6)
    assert (np.abs(scalars) ** 2 <= power[schedule.active] * (1 + 1e-9)).all()
    through = np.vdot(schedule.receiver, noise @ schedule.receiver).real
    assert through / schedule.power_factor == pytest.approx(schedule.computation_error, rel=1e-6)


@pytest.mark.parametrize(
    ("covariance", "message"),
    [
        (np.ones((2, 3)), "must be 3 × 3"),
        (np.diag([1.0, 2.0, 0.0]), "positive definite"),
        (np.diag([1.0, 2.0, -1.0]), "positive definite"),
        (np.triu(np.ones((3, 3))), "Hermitian"),
        (np.diag([1.0, 1.0, 1e-12]), "condition number of 1e\\+12"),
        (np.full((3, 3), np.nan), "finite"),
    ],
)
def test_a_covariance_that_cannot_be_used_is_refused(covariance, message):
    with pytest.raises(InvalidProblemError, match=message) as error:
        checked_covariance(covariance, 3)
    assert error.value.field == "noise_covariance"


def test_contradictions_are_refused():
    problem = Problem(np.eye(3), np.ones(3), gamma=1.0)
    with pytest.raises(InvalidProblemError, match="excluded as well"):
        state(problem, excluded=np.array([1]), required=np.array([1]))
    with pytest.raises(InvalidProblemError, match="leaves no device"):
        state(problem, excluded=np.arange(3))


def served_sets(problem, rng, draws=400):
    """Yield the sets that random receivers near each mixture of channels serve."""
    for _ in range(draws):
        mixture = iid_channels(rng, problem.devices, 1)[:, 0]
        receiver = problem.channels @ mixture
        yield problem.served(receiver / np.linalg.norm(receiver))


@pytest.mark.parametrize("algorithm", ["dual_pursuit", "matching_pursuit"])
@pytest.mark.parametrize("seed", range(12))
def test_required_devices_take_part_or_nobody_does(seed, algorithm):
    rng = np.random.default_rng(seed)
    problem = Problem(iid_channels(rng, 4, 12), np.ones(12), gamma=0.35)
    required = rng.choice(12, size=2, replace=False)
    schedule = solve(state(problem, required=np.sort(required)), algorithm)
    if schedule.feasible:
        assert np.isin(required, schedule.active).all()
        assert schedule.required_missing is None
        return
    assert schedule.active.size == 0
    assert np.isin(schedule.required_missing, required).all()
    assert schedule.required_missing.size > 0
    # With that tolerance they can be served, and with a little less the search finds no way.
    enough = problem.with_gamma(schedule.required_gamma * (1 + 1e-6))
    assert solve(state(enough, required=np.sort(required)), algorithm).feasible
    for mask in served_sets(problem.with_gamma(schedule.required_gamma * 0.9), rng):
        assert not mask[required].all()


@pytest.mark.parametrize("seed", range(8))
def test_nobody_serves_more_with_the_required_devices(seed):
    """Against all sets that hold them, each decided by the exact search for that set alone."""
    rng = np.random.default_rng(seed)
    problem = Problem(iid_channels(rng, 2, 6), np.ones(6), gamma=0.8)
    required = np.array([0, 1])
    schedule = solve(state(problem, required=required), "dual_pursuit")
    best = 0
    for size in range(2, 7):
        for others in combinations(range(2, 6), size - 2):
            members = [0, 1, *others]
            alone = Problem(problem.channels[:, members], np.ones(size), gamma=0.8)
            if solve(alone, "optimal").active.size == size:
                best = max(best, size)
    assert schedule.active.size == best


def largest_with(problem, required):
    """Return the size of the largest set that holds ``required``, by the exact search."""
    others = np.setdiff1d(np.arange(problem.devices), required)
    for size in range(others.size, -1, -1):
        for joined in combinations(others, size):
            members = np.sort(np.concatenate([required, np.array(joined, int)]))
            alone = Problem(problem.channels[:, members], problem.weights[members], problem.gamma)
            if solve(alone, "optimal").active.size == members.size:
                return members.size
    return 0


@pytest.mark.parametrize("seed", range(10))
def test_bounds_count_devices_and_hold_for_required_ones(seed):
    rng = np.random.default_rng(seed)
    problem = Problem(iid_channels(rng, 2, 6), np.ones(6), gamma=0.7)
    required = np.array([1, 4])
    cell = state(problem, required=required, excluded=np.array([0]))
    smaller = Problem(problem.channels[:, 1:], np.ones(5), gamma=0.7)
    best = largest_with(smaller, required - 1)
    proven = solve(cell, "optimal")
    assert proven.upper_bound == best == proven.active.size
    assert proven.optimal
    bounded = solve(cell, "matching_pursuit", bound=True, bound_ms=2000.0)
    assert bounded.upper_bound == best
    free = solve(state(problem, previous=required), "optimal")
    assert free.upper_bound == free.active.size == solve(problem, "optimal").active.size


@pytest.mark.parametrize("algorithm", ["optimal", "dual_pursuit"])
@pytest.mark.parametrize("unlikely", [1e5, 1e6])
def test_an_attained_bound_holds_beside_much_larger_priorities(algorithm, unlikely):
    """What a required device adds then hides the last digits of the bound on its own priority."""
    channels = np.array([[2.0, 0.001, 0.001], [0.0, 0.001, 0.0]])
    priorities = np.array([0.001, unlikely, unlikely])
    problem = Problem(channels, np.ones(3), 1.0, priorities=priorities)
    schedule = solve(state(problem, required=np.array([0])), algorithm, bound=True)
    assert schedule.active.tolist() == [0]
    assert schedule.worth == 0.001
    assert schedule.upper_bound >= schedule.worth


@pytest.mark.parametrize("seed", SEEDS)
def test_the_previous_set_is_kept_where_it_costs_no_device(seed):
    rng = np.random.default_rng(seed)
    problem = Problem(iid_channels(rng, 4, 12), np.ones(12), gamma=0.35)
    free = solve(problem, "dual_pursuit")
    previous = np.sort(rng.choice(12, size=6, replace=False))
    kept = solve(state(problem, previous=previous), "dual_pursuit")
    assert kept.active.size >= free.active.size
    if kept.active.size == free.active.size:
        overlap = np.intersect1d(kept.active, previous).size
        assert overlap >= np.intersect1d(free.active, previous).size


def test_a_tampered_schedule_of_a_cell_is_noticed():
    problem, power, noise = stated(0)
    cell = state(problem, power=power, noise_covariance=noise, excluded=np.array([0]))
    schedule = solve(cell, "dual_pursuit")
    weakest = schedule.active[np.argmin(power[schedule.active])]
    louder = schedule.transmit_scalars.copy()
    louder[weakest] *= 10
    for broken in (
        schedule._replace(transmit_scalars=louder),
        schedule._replace(computation_error=schedule.computation_error * 0.99),
        schedule._replace(receiver=schedule.receiver * 1.01),
        schedule._replace(active=np.union1d(schedule.active, [0])),
    ):
        with pytest.raises(VerificationError):
            verify(cell, broken)
    verify(cell, schedule)


def test_a_cell_is_verified_as_it_was_stated():
    problem, power, noise = stated(1)
    cell = state(problem, power=power, noise_covariance=noise)
    schedule = solve(cell, "all_devices", coordination="mmse")
    verify(cell, schedule, method="mmse", keeps_tolerance=False)
    with pytest.raises(VerificationError, match="weighted sum"):
        verify(cell, schedule, keeps_tolerance=False)
    with pytest.raises(VerificationError, match="phase"):
        verify(cell, schedule._replace(phases=np.ones(3)), method="mmse", keeps_tolerance=False)
    nobody = solve(state(replace(problem, gamma=1e-9), power=power), "dual_pursuit")
    assert nobody.active.size == 0
    verify(cell, nobody)
    with pytest.raises(VerificationError, match="empty schedule"):
        verify(cell, nobody._replace(feasible=True))
