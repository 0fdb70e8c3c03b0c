"""Power limits and coloured noise over a band, against oracles that do not change coordinates."""

from dataclasses import replace

import numpy as np
import pytest

from app.scheduling import VerificationError, WidebandProblem, solve, verify
from app.scheduling.cells.cell import state
from app.scheduling.problem import Problem
from app.scheduling.wideband.coordinates import BandCell, state_in_cell
from lab.channels import iid_band, iid_channels
from tests.scheduling.cells.test_cells import covariance, least_error

NOBODY = {name: np.zeros(0, np.int64) for name in ("excluded", "required", "previous")}
both_criteria = pytest.mark.parametrize("criterion", ["mean", "each"])


def stated(seed, criterion="mean", subcarriers=3, antennas=3, devices=6, gamma=2.0, **options):
    rng = np.random.default_rng(seed)
    channels = iid_band(rng, subcarriers, antennas, devices, 2)
    power = 10 ** rng.uniform(-0.7, 0.7, devices)
    noise = covariance(rng, antennas)
    weights = 10 ** rng.uniform(-0.2, 0.2, devices)
    problem = WidebandProblem(
        channels,
        weights,
        gamma,
        power=float(power.max()),
        noise_variance=float(np.trace(noise).real / antennas),
        criterion=criterion,
        **options,
    )
    return problem, power, noise


def in_cell(problem, power, noise, **named):
    return state_in_cell(problem, power=power, noise_covariance=noise, **NOBODY | named)


def simulated(problem, noise, schedule, f, rng, draws=40_000):
    """Return the mean of |estimate - sum|² on subcarrier f, and its standard error."""
    active, scalars = schedule.active, schedule.transmit_scalars[f]
    symbols = iid_channels(rng, active.size, draws)
    hiss = np.linalg.cholesky(noise) @ iid_channels(rng, problem.antennas, draws)
    received = problem.channels[f][:, active] @ (scalars[active, None] * symbols) + hiss
    estimate = schedule.receiver[f].conj() @ received / np.sqrt(schedule.power_factors[f])
    errors = np.abs(estimate - problem.weights[active] @ symbols) ** 2
    return errors.mean(), errors.std() / np.sqrt(draws)


@both_criteria
@pytest.mark.parametrize("method", ["zero_forcing", "mmse"])
@pytest.mark.parametrize("algorithm", ["dual_pursuit", "matching_pursuit", "intersection"])
def test_simulated_errors_are_the_reported_ones_and_no_limit_is_broken(
    criterion, method, algorithm
):
    served = 0
    for seed in range(3):
        problem, power, noise = stated(seed, criterion)
        schedule = solve(in_cell(problem, power, noise), algorithm, coordination=method)
        if not schedule.active.size:
            continue
        served += schedule.active.size
        assert (np.abs(schedule.transmit_scalars) ** 2 <= power * (1 + 1e-9)).all()
        np.testing.assert_allclose(np.linalg.norm(schedule.receiver, axis=1), 1, rtol=1e-9)
        rng = np.random.default_rng(100 + seed)
        for f in range(problem.subcarriers):
            mean, error = simulated(problem, noise, schedule, f, rng)
            assert mean == pytest.approx(schedule.computation_errors[f], abs=4 * error)
        compared = schedule.computation_errors.max() if criterion == "each" else None
        compared = compared or schedule.computation_errors.mean()
        assert schedule.computation_error == pytest.approx(compared)
        if method == "zero_forcing":
            assert compared <= problem.max_error * (1 + 1e-6)
    assert served > 0


@pytest.mark.parametrize("seed", range(4))
def test_a_flat_band_is_the_cell_on_one_subcarrier(seed):
    problem, power, noise = stated(seed, subcarriers=1, gamma=1.0)
    one = Problem(
        problem.channels[0],
        problem.weights,
        problem.gamma,
        problem.power,
        problem.noise_variance,
    )
    flat = replace(problem, channels=np.repeat(problem.channels, 3, axis=0), criterion="each")
    band = solve(in_cell(flat, power, noise), "dual_pursuit", bound=True, bound_ms=1000.0)
    plain = solve(state(one, power=power, noise_covariance=noise), "optimal")
    assert band.active.size == plain.active.size == band.upper_bound


@pytest.mark.parametrize("seed", range(3))
def test_one_set_beside_a_general_solver(seed):
    """With `each`, the largest set that the general solver serves on every subcarrier."""
    problem, power, noise = stated(seed, "each", subcarriers=2, antennas=2, devices=4, gamma=0.8)
    rng = np.random.default_rng(seed)
    best = 0
    for code in range(1, 16):
        members = [k for k in range(4) if code >> k & 1]
        errors = (
            least_error(problem.subcarrier(f), power, noise, members, rng)
            for f in range(problem.subcarriers)
        )
        if len(members) > best and max(errors) <= problem.max_error:
            best = len(members)
    assert solve(in_cell(problem, power, noise), "dual_pursuit").active.size == best


@both_criteria
def test_who_must_and_who_must_not(criterion):
    problem, power, noise = stated(5, criterion, gamma=20.0)
    named = {"excluded": np.array([2]), "required": np.array([0, 4])}
    schedule = solve(in_cell(problem, power, noise, **named), "dual_pursuit")
    assert 2 not in schedule.active
    assert np.isin([0, 4], schedule.active).all()
    tight = replace(problem, gamma=1e-6)
    nobody = solve(in_cell(tight, power, noise, **named), "dual_pursuit")
    assert not nobody.feasible
    assert nobody.required_missing.size
    enough = replace(problem, gamma=nobody.required_gamma * (1 + 1e-6))
    assert np.isin(
        [0, 4], solve(in_cell(enough, power, noise, **named), "dual_pursuit").active
    ).all()


def test_errors_of_the_estimates_are_covered():
    """The worst case in the cell's own coordinates is within what is reported."""
    problem, power, noise = stated(6, gamma=20.0, csi_error=0.05)
    schedule = solve(in_cell(problem, power, noise), "dual_pursuit")
    assert schedule.active.size
    active = schedule.active
    for f in range(problem.subcarriers):
        receiver, eta = schedule.receiver[f], schedule.power_factors[f]
        spread = np.abs(schedule.transmit_scalars[f][active]) * 0.05 / np.sqrt(eta)
        worst = np.sum(spread**2) + np.vdot(receiver, noise @ receiver).real / eta
        assert worst <= schedule.computation_errors[f] * (1 + 1e-6)
    assert schedule.computation_error <= problem.max_error * (1 + 1e-6)


def test_a_warm_start_is_in_the_coordinates_of_the_cell():
    problem, power, noise = stated(7)
    cell = in_cell(problem, power, noise)
    found = solve(cell, "dual_pursuit")
    mapped = cell.to_standard(found.receiver)
    # The same receiver, up to its norm: it serves the same devices.
    served = cell.reduced.costs(mapped)[:, found.active].max(axis=1)
    assert cell.reduced.keeps(served)
    again = solve(cell, "dual_pursuit", warm_start=found.receiver)
    assert again.active.size >= found.active.size


def test_a_standard_band_is_left_alone():
    problem, power, noise = stated(8)
    assert state_in_cell(problem, power=None, noise_covariance=None, **NOBODY) is problem
    assert isinstance(in_cell(problem, power, None), BandCell)
    assert isinstance(in_cell(problem, None, noise), BandCell)


def test_a_tampered_schedule_is_noticed():
    problem, power, noise = stated(0)
    cell = in_cell(problem, power, noise)
    schedule = solve(cell, "dual_pursuit")
    for broken in (
        schedule._replace(transmit_scalars=schedule.transmit_scalars * 10),
        schedule._replace(computation_errors=schedule.computation_errors * 0.99),
        schedule._replace(receiver=schedule.receiver * 1.01),
    ):
        with pytest.raises(VerificationError):
            verify(cell, broken)
    verify(cell, schedule)


def test_a_missing_required_device_is_noticed():
    problem, power, noise = stated(0)
    schedule = solve(in_cell(problem, power, noise), "dual_pursuit")
    absent = np.setdiff1d(np.arange(problem.devices), schedule.active)[:1]
    named = NOBODY | {"required": absent}
    cell = state_in_cell(problem, power=power, noise_covariance=noise, **named)
    with pytest.raises(VerificationError, match="required"):
        verify(cell, schedule)
