"""Cells with a surface: required and previous devices, power limits and interference."""

from dataclasses import replace

import numpy as np
import pytest

from app.scheduling import InvalidProblemError, IrsProblem, VerificationError, solve, verify
from app.scheduling.cells.cell import state
from lab.channels import iid_channels
from tests.scheduling.cells.test_cells import covariance, largest_with, least_error
from tests.scheduling.irs.problems import surface_problem
from tests.scheduling.irs.test_priorities import every_choice

ALGORITHMS = ["dual_pursuit", "matching_pursuit"]


def small(rng, gamma_db, **fixed):
    """Two elements of two phases each, so that all choices can be tried."""
    sizes = {"elements": 2, "antennas": 2, "devices": 6, "phase_bits": 1}
    return surface_problem(rng, gamma_db, **sizes | fixed)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("gamma_db", [-4.0, -1.0])
def test_required_devices_against_every_choice_of_phases(algorithm, gamma_db):
    rng = np.random.default_rng(200)
    required = np.array([1, 4])
    total, refused = np.zeros(2, int), 0
    for seed in range(10):
        problem = small(rng, gamma_db)
        best = max(largest_with(tuned, required) for tuned in every_choice(problem))
        cell = state(problem, required=required)
        schedule = solve(cell, algorithm, seed=seed, bound=True)
        assert schedule.active.size <= best
        assert schedule.feasible == (best > 0)
        assert best <= schedule.upper_bound
        total += schedule.active.size, best
        if schedule.feasible:
            assert np.isin(required, schedule.active).all()
            assert schedule.required_missing is None
        else:
            refused += 1
            assert schedule.active.size == 0
            assert schedule.required_missing.size > 0
            assert np.isin(schedule.required_missing, required).all()
    assert refused < 10
    if algorithm == "dual_pursuit":
        # About its share without required devices, 0.97 to 0.99 on such small surfaces.
        assert total[0] >= 0.95 * total[1]


def test_the_tolerance_that_required_devices_need():
    """Against a general solver for every choice of the phases, which knows the cell as stated."""
    rng = np.random.default_rng(201)
    met = 0
    for seed in range(6):
        noise = covariance(rng, 2)
        power = 10 ** rng.uniform(-0.7, 0.7, 6)
        problem = small(
            rng, -20.0, power=float(power.max()), noise_variance=float(np.trace(noise).real / 2)
        )
        required = np.array([0, 3, 5])
        cell = state(problem, power=power, noise_covariance=noise, required=required)
        schedule = solve(cell, "dual_pursuit", seed=seed)
        assert not schedule.feasible
        assert schedule.required_missing.size > 0
        least = min(
            least_error(tuned, power, noise, required, rng) for tuned in every_choice(problem)
        )
        gamma = least * problem.power / problem.noise_variance
        assert schedule.required_gamma >= gamma * (1 - 1e-5)
        met += schedule.required_gamma <= gamma * 1.02
        enough = replace(problem, gamma=schedule.required_gamma * (1 + 1e-6))
        cell = state(enough, power=power, noise_covariance=noise, required=required)
        served = solve(cell, "dual_pursuit", seed=seed)
        assert np.isin(required, served.active).all()
    assert met >= 5


def test_the_tolerance_with_continuous_phases_is_reached_by_no_random_ones():
    rng = np.random.default_rng(202)
    problem = surface_problem(rng, -30.0)
    required = np.array([2, 3, 7])
    schedule = solve(state(problem, required=required), "dual_pursuit")
    assert schedule.required_gamma is not None
    channels = problem.direct[:, required]
    least = np.inf
    for _ in range(2000):
        phases = np.exp(2j * np.pi * rng.random(problem.elements))
        tuned = channels + (problem.irs_to_server * phases) @ problem.devices_to_irs[:, required]
        receiver = tuned @ iid_channels(rng, 3, 1)[:, 0]
        receiver /= np.linalg.norm(receiver)
        least = min(least, 1 / np.min(np.abs(receiver.conj() @ tuned) ** 2))
    assert schedule.required_gamma <= least


def test_a_required_device_without_any_channel():
    rng = np.random.default_rng(203)
    problem = surface_problem(rng, -6.0)
    silent = replace(
        problem,
        direct=problem.direct * (np.arange(10) != 4),
        devices_to_irs=problem.devices_to_irs * (np.arange(10) != 4),
    )
    schedule = solve(state(silent, required=np.array([4])), "dual_pursuit", bound=True)
    assert not schedule.feasible
    assert schedule.required_missing.tolist() == [4]
    assert schedule.required_gamma is None
    assert schedule.upper_bound == 0


@pytest.mark.parametrize("bits", [None, 2])
def test_the_previous_set_is_kept_where_it_costs_no_device(bits):
    rng = np.random.default_rng(204)
    kept_more = 0
    for seed in range(8):
        problem = surface_problem(rng, -7.0, phase_bits=bits)
        free = solve(problem, "dual_pursuit", seed=seed)
        previous = np.sort(rng.choice(10, size=5, replace=False))
        kept = solve(state(problem, previous=previous), "dual_pursuit", seed=seed)
        assert kept.active.size >= free.active.size - 1
        if kept.active.size == free.active.size:
            overlap = np.intersect1d(kept.active, previous).size
            kept_more += overlap - np.intersect1d(free.active, previous).size
    assert kept_more >= 0


@pytest.mark.parametrize("method", ["zero_forcing", "mmse"])
def test_the_simulated_error_of_required_devices_is_the_reported_one(method):
    rng = np.random.default_rng(205)
    noise, power = covariance(rng, 4), 10 ** rng.uniform(-0.5, 0.5, 10)
    problem = surface_problem(
        rng, 0.0, power=float(power.max()), noise_variance=float(np.trace(noise).real / 4)
    )
    required, excluded = np.array([0, 9]), np.array([5])
    cell = state(problem, power=power, noise_covariance=noise, required=required, excluded=excluded)
    schedule = solve(cell, "dual_pursuit", coordination=method)
    active, scalars = schedule.active, schedule.transmit_scalars
    assert np.isin(required, active).all()
    assert 5 not in active
    assert (np.abs(scalars) ** 2 <= power * (1 + 1e-9)).all()
    tuned = problem.direct + (problem.irs_to_server * schedule.phases) @ problem.devices_to_irs
    draws = 40_000
    symbols = iid_channels(rng, active.size, draws)
    hiss = np.linalg.cholesky(noise) @ iid_channels(rng, 4, draws)
    received = tuned[:, active] @ (scalars[active, None] * symbols) + hiss
    estimate = schedule.receiver.conj() @ received / np.sqrt(schedule.power_factor)
    errors = np.abs(estimate - problem.weights[active] @ symbols) ** 2
    standard_error = errors.std() / np.sqrt(draws)
    assert errors.mean() == pytest.approx(schedule.computation_error, abs=4 * standard_error)


def test_priorities_of_a_cell_with_a_surface():
    rng = np.random.default_rng(206)
    priorities = 10 ** rng.uniform(-1, 1, 10)
    problem = surface_problem(rng, -8.0, priorities=priorities)
    cell = state(problem, excluded=np.array([int(np.argmax(priorities))]))
    schedule = solve(cell, "dual_pursuit", bound=True)
    assert np.argmax(priorities) not in schedule.active
    assert priorities[schedule.active].sum() <= schedule.upper_bound * (1 + 1e-9)
    assert schedule.upper_bound <= priorities.sum() - priorities.max() + 1e-9


@pytest.mark.parametrize("name", ["dual_pursuit", "no_irs"])
def test_wrong_phases_are_noticed(name):
    rng = np.random.default_rng(209)
    cell = state(surface_problem(rng, -5.0, phase_bits=1), power=rng.uniform(0.5, 1, 10))
    schedule = solve(cell, name)
    verify(cell, schedule)
    for phases in (None, schedule.phases[1:], np.full(schedule.phases.size, 0.5 + 0j)):
        with pytest.raises(VerificationError, match="needs a phase"):
            verify(cell, schedule._replace(phases=phases))


@pytest.mark.parametrize("algorithm", ["dc", "no_irs", "random_phases"])
@pytest.mark.parametrize("field", ["required", "previous"])
def test_algorithms_without_priorities_refuse(algorithm, field):
    problem = surface_problem(np.random.default_rng(207))
    with pytest.raises(InvalidProblemError, match=f"takes no {field}"):
        solve(state(problem, **{field: np.array([1])}), algorithm)


def test_required_and_wrong_estimates_are_refused():
    problem = IrsProblem(
        np.eye(2), np.ones((2, 1)), np.ones((1, 2)), np.ones(2), 1.0, csi_error=0.1
    )
    with pytest.raises(InvalidProblemError, match="csi_error"):
        state(problem, required=np.array([0]))
