"""The least-error coordination against a numerical optimiser and a simulated transmission."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from app.scheduling import SCHEDULERS, Problem, solve, verify
from lab.channels import iid_channels
from lab.problems import random_problem


def error_at(problem, schedule, inverse):
    """Error for 1/√η = inverse, with each |ψ_k| the best within the power limit."""
    gains = np.abs(schedule.receiver.conj() @ problem.channels)[schedule.active]
    weights = problem.weights[schedule.active]
    sent = np.minimum(np.sqrt(problem.power), weights / (gains * inverse))
    return np.sum((sent * gains * inverse - weights) ** 2) + problem.noise_variance * inverse**2


def test_mmse_is_the_least_error():
    rng = np.random.default_rng(80)
    compared = 0
    for _ in range(200):
        problem = random_problem(rng)
        forced = solve(problem, "all_devices")
        schedule = solve(problem, "all_devices", coordination="mmse")
        verify(problem, schedule, keeps_tolerance=False, method="mmse")
        assert schedule.computation_error <= forced.computation_error * (1 + 1e-9)
        upper = 1 / np.sqrt(forced.power_factor)
        best = minimize_scalar(
            lambda x, p=problem, s=schedule: error_at(p, s, x),
            bounds=(upper * 1e-6, upper),
            options={"xatol": upper * 1e-9},
        )
        assert schedule.computation_error <= best.fun * (1 + 1e-6)
        here = error_at(problem, schedule, 1 / np.sqrt(schedule.power_factor))
        assert schedule.computation_error == pytest.approx(here, rel=1e-9)
        compared += schedule.computation_error < 0.99 * forced.computation_error
    assert compared > 50


@pytest.mark.parametrize("method", ["zero_forcing", "mmse"])
def test_error_is_that_of_a_simulated_transmission(method):
    rng = np.random.default_rng(81)
    for _ in range(3):
        problem = Problem(
            iid_channels(rng, 4, 10),
            rng.uniform(0.5, 1.5, 10),
            gamma=3.0,
            power=2.0,
            noise_variance=0.7,
        )
        schedule = solve(problem, coordination=method)
        assert schedule.active.size > 1
        draws = 200_000
        symbols = (
            rng.standard_normal((10, draws)) + 1j * rng.standard_normal((10, draws))
        ) / 2**0.5
        noise = iid_channels(rng, 4, draws) * np.sqrt(problem.noise_variance)
        received = problem.channels @ (schedule.transmit_scalars[:, None] * symbols) + noise
        estimate = schedule.receiver.conj() @ received / np.sqrt(schedule.power_factor)
        wanted = problem.weights[schedule.active] @ symbols[schedule.active]
        measured = np.mean(np.abs(estimate - wanted) ** 2)
        assert measured == pytest.approx(schedule.computation_error, rel=0.02)


def test_mmse_is_zero_forcing_without_noise():
    rng = np.random.default_rng(82)
    channels, weights = iid_channels(rng, 4, 8), np.ones(8)
    quiet = Problem(channels, weights, 2.0, noise_variance=1e-12)
    forced, least = solve(quiet), solve(quiet, coordination="mmse")
    assert least.power_factor == pytest.approx(forced.power_factor, rel=1e-6)
    np.testing.assert_allclose(least.transmit_scalars, forced.transmit_scalars, rtol=1e-6)


@pytest.mark.parametrize("name", SCHEDULERS)
def test_every_scheduler_takes_mmse_and_polishing(name):
    rng = np.random.default_rng(83)
    for _ in range(20):
        problem = random_problem(rng, SCHEDULERS[name].max_devices)
        plain = solve(problem, name)
        least = solve(problem, name, coordination="mmse")
        polished = solve(problem, name, polish=True)
        np.testing.assert_array_equal(least.active, plain.active)
        assert set(plain.active) <= set(polished.active)
        if plain.active.size:
            assert least.computation_error <= plain.computation_error * (1 + 1e-9)
        if plain.active.size == polished.active.size > 0:
            assert polished.computation_error <= plain.computation_error * (1 + 1e-9)
