"""All fields of a cell at once, against a general solver on the stated problem, and simulation."""

from itertools import combinations

import numpy as np
import pytest

from app.scheduling import solve
from app.scheduling.cells.cell import state
from lab.channels import iid_channels
from tests.scheduling.cells.test_cells import least_error, stated

SEEDS = range(5)
EXCLUDED = np.array([2])


def servable_sets(problem, power, noise, seed):
    """Return all sets without the excluded device whose least error is within the tolerance."""
    rng = np.random.default_rng(seed)
    devices = [k for k in range(problem.devices) if k not in EXCLUDED]
    return [
        set(members)
        for size in range(1, len(devices) + 1)
        for members in combinations(devices, size)
        if least_error(problem, power, noise, list(members), rng) <= problem.max_error
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_required_devices_beside_a_general_solver(seed):
    problem, power, noise = stated(seed, antennas=2, devices=5, gamma=0.8)
    required = np.array([0, 4])
    cell = state(problem, power=power, noise_covariance=noise, excluded=EXCLUDED, required=required)
    sets = [one for one in servable_sets(problem, power, noise, seed) if one >= {0, 4}]
    best = max(map(len, sets), default=0)
    for algorithm in ("optimal", "dual_pursuit"):
        schedule = solve(cell, algorithm, bound=True, bound_ms=1000.0)
        assert schedule.active.size == best
        assert schedule.upper_bound == best
        assert schedule.feasible == (best > 0)
        if best:
            assert set(schedule.active.tolist()) in sets


@pytest.mark.parametrize("seed", SEEDS)
def test_previous_devices_beside_a_general_solver(seed):
    problem, power, noise = stated(seed, antennas=2, devices=5, gamma=0.6)
    previous = np.array([1, 3, 4])
    cell = state(problem, power=power, noise_covariance=noise, excluded=EXCLUDED, previous=previous)
    sets = servable_sets(problem, power, noise, seed)
    ranks = [(len(one), len(one & set(previous.tolist()))) for one in sets]
    schedule = solve(cell, "optimal")
    active = set(schedule.active.tolist())
    assert (len(active), len(active & {1, 3, 4})) == max(ranks, default=(0, 0))


def received_errors(problem, noise, schedule, channels, rng, draws=40_000):
    """Return |estimate - sum|² of simulated symbols, and their standard error."""
    active, scalars = schedule.active, schedule.transmit_scalars
    symbols = iid_channels(rng, active.size, draws)
    hiss = np.linalg.cholesky(noise) @ iid_channels(rng, problem.antennas, draws)
    received = channels[:, active] @ (scalars[active, None] * symbols) + hiss
    estimate = schedule.receiver.conj() @ received / np.sqrt(schedule.power_factor)
    errors = np.abs(estimate - problem.weights[active] @ symbols) ** 2
    return errors.mean(), errors.std() / np.sqrt(draws)


@pytest.mark.parametrize("method", ["zero_forcing", "mmse"])
@pytest.mark.parametrize("field", ["required", "previous"])
def test_simulated_with_every_field(method, field):
    for seed in SEEDS:
        problem, power, noise = stated(seed, antennas=3, devices=7, gamma=3.0)
        named = {"excluded": EXCLUDED, field: np.array([1, 5])}
        cell = state(problem, power=power, noise_covariance=noise, **named)
        schedule = solve(cell, "dual_pursuit", coordination=method)
        assert schedule.active.size
        assert 2 not in schedule.active
        if field == "required":
            assert np.isin([1, 5], schedule.active).all()
        assert (np.abs(schedule.transmit_scalars) ** 2 <= power * (1 + 1e-9)).all()
        rng = np.random.default_rng(400 + seed)
        mean, error = received_errors(problem, noise, schedule, problem.channels, rng)
        assert mean == pytest.approx(schedule.computation_error, abs=4 * error)


@pytest.mark.parametrize("method", ["zero_forcing", "mmse"])
def test_wrong_estimates_keep_the_tolerance_in_the_worst_case(method):
    """With errors as large as they may be, along the receiver, where they harm most."""
    served = 0
    for seed in SEEDS:
        bounds = np.linspace(0.02, 0.1, 7)
        problem, power, noise = stated(seed, antennas=3, devices=7, gamma=3.0, csi_error=bounds)
        cell = state(
            problem,
            power=power,
            noise_covariance=noise,
            excluded=EXCLUDED,
            previous=np.array([1, 5]),
        )
        schedule = solve(cell, "dual_pursuit", coordination=method)
        served += schedule.active.size
        if not schedule.active.size:
            continue
        assert 2 not in schedule.active
        assert (np.abs(schedule.transmit_scalars) ** 2 <= power * (1 + 1e-9)).all()
        # The device's response falls short by its bias and, turned against it, by all of d_k.
        receiver, scalars = schedule.receiver, schedule.transmit_scalars
        response = receiver.conj() @ problem.channels * scalars / np.sqrt(schedule.power_factor)
        off = response - np.where(scalars != 0, problem.weights, 0)
        turn = np.where(np.abs(off) > 1e-9, off, 1) / np.where(np.abs(off) > 1e-9, np.abs(off), 1)
        back = turn * np.exp(-1j * np.angle(np.where(scalars != 0, scalars, 1)))
        wrong = problem.channels + np.outer(receiver, bounds * back)
        rng = np.random.default_rng(500 + seed)
        mean, error = received_errors(problem, noise, schedule, wrong, rng)
        spread = np.abs(scalars) * bounds / np.sqrt(schedule.power_factor)
        through = np.vdot(receiver, noise @ receiver).real / schedule.power_factor
        worst = np.sum((np.abs(off) + spread) ** 2) + through
        assert mean == pytest.approx(worst, abs=4 * error)
        assert worst <= schedule.computation_error * (1 + 1e-6)
        if method == "zero_forcing":
            assert schedule.computation_error <= problem.max_error * (1 + 1e-6)
        nominal, error = received_errors(problem, noise, schedule, problem.channels, rng)
        assert nominal == pytest.approx(schedule.nominal_error, abs=4 * error)
    assert served > 5
