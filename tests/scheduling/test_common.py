"""What every scheduler must satisfy, for every one that is registered."""

from dataclasses import fields, replace

import numpy as np
import pytest

from app.scheduling import SCHEDULERS, Problem, solve, verify
from lab.channels import iid_channels, random_unitary
from lab.problems import random_problem
from tests.scheduling.formulas import assert_formulas_hold, true_error, worst_channels

VARIANTS = [
    pytest.param(name, parameters, id=f"{name}-{'-'.join(map(str, vars(parameters).values()))}")
    for name, scheduler in SCHEDULERS.items()
    for parameters in scheduler.variants()
]
every_scheduler = pytest.mark.parametrize(("name", "parameters"), VARIANTS)


def paper_problem(rng, name, gamma_db, **fixed):
    """The paper's setting, N = 6 and K = 20, or as many devices as the algorithm takes."""
    devices = min(20, SCHEDULERS[name].max_devices or 20)
    return Problem(iid_channels(rng, 6, devices), np.ones(devices), 10 ** (gamma_db / 10), **fixed)


@every_scheduler
def test_formulas_hold(name, parameters):
    rng = np.random.default_rng(1)
    served_somebody = 0
    keeps_tolerance = SCHEDULERS[name].keeps_tolerance
    for _ in range(60):
        problem = random_problem(rng, SCHEDULERS[name].max_devices)
        schedule = solve(problem, name, parameters)
        verify(problem, schedule, keeps_tolerance=keeps_tolerance)
        served_somebody += assert_formulas_hold(
            problem, schedule, problem.channels.T, keeps_tolerance=keeps_tolerance
        )
    assert served_somebody > 20


@every_scheduler
def test_same_seed_same_answer_and_inputs_untouched(name, parameters):
    rng = np.random.default_rng(2)
    problem = paper_problem(rng, name, 1)
    before = {item.name: np.copy(getattr(problem, item.name)) for item in fields(problem)}
    first = solve(problem, name, parameters, seed=7)
    second = solve(problem, name, parameters, seed=7)
    np.testing.assert_array_equal(first.active, second.active)
    np.testing.assert_array_equal(first.receiver, second.receiver)
    np.testing.assert_array_equal(first.transmit_scalars, second.transmit_scalars)
    for item, value in before.items():
        np.testing.assert_array_equal(getattr(problem, item), value)


@every_scheduler
def test_order_of_devices_and_choice_of_antenna_basis_do_not_matter(name, parameters):
    if not SCHEDULERS[name].symmetric:
        pytest.skip("depends on the order of the devices, or on the seed, by design")
    rng = np.random.default_rng(3)
    for gamma_db in (-3, 0, 3):
        problem = paper_problem(rng, name, gamma_db)
        weights = 10 ** rng.uniform(-0.2, 0.2, problem.devices)
        order = rng.permutation(problem.devices)
        turned = random_unitary(rng, 6) @ problem.channels[:, order]
        plain = solve(Problem(problem.channels, weights, problem.gamma), name, parameters)
        other = solve(Problem(turned, weights[order], problem.gamma), name, parameters)
        assert sorted(order[other.active]) == plain.active.tolist()


@every_scheduler
@pytest.mark.parametrize(
    "channels",
    [
        pytest.param(np.array([[0.5 + 1j]]), id="one device, one antenna"),
        pytest.param(np.array([[1.0, 0.2, 2.0]]), id="one antenna"),
        pytest.param(np.array([[1.0], [1.0j]]), id="one device"),
        pytest.param(np.zeros((2, 3)), id="all zero"),
        pytest.param(np.array([[1, 0, 1], [1j, 0, 0.5]]), id="zero column"),
        pytest.param(np.outer([1, 1j, 0.5], [1, 2, 0.5, 1j]), id="rank one"),
        pytest.param(np.ones((3, 4)), id="equal devices"),
        pytest.param(np.full((2, 3), 1e29), id="huge"),
        pytest.param(np.full((2, 3), 1e-29), id="tiny"),
        pytest.param(np.array([[1e29, 1e-29, 1.0]]), id="huge and tiny"),
        pytest.param(np.full((2, 2), 1e-200), id="vanishing"),
    ],
)
@pytest.mark.parametrize("gamma", [1e-30, 0.5, 2.0, 1e30])
def test_degenerate_problems(name, parameters, channels, gamma):
    problem = Problem(channels, np.ones(channels.shape[1]), gamma)
    solve(problem, name, parameters, coordination="mmse", polish=True)  # verified inside
    schedule = solve(problem, name, parameters)
    servable = (np.linalg.norm(channels, axis=0) ** 2 * gamma >= 1 - 1e-9).nonzero()[0]
    if SCHEDULERS[name].keeps_tolerance:
        assert set(schedule.active.tolist()) <= set(servable.tolist())
    if problem.antennas == 1 and SCHEDULERS[name].keeps_tolerance:
        # With one antenna there is one receiver: everyone servable alone is served at once.
        assert schedule.active.tolist() == servable.tolist()


@every_scheduler
def test_never_more_devices_than_the_optimum(name, parameters):
    """With two antennas a grid of receivers bounds the optimum from above.

    Every unit receiver is within ``radius`` of a grid point up to a phase, and moving c by r
    changes |h_kᴴc| by at most r‖h_k‖.
    """
    if not SCHEDULERS[name].keeps_tolerance:
        pytest.skip("serves devices beyond the tolerance by design")
    steps, radius = 120, 0.025
    tilt, turn = np.meshgrid(
        np.linspace(0, np.pi / 2, steps), np.linspace(0, 2 * np.pi, 2 * steps), indexing="ij"
    )
    grid = np.stack([np.cos(tilt), np.sin(tilt) * np.exp(1j * turn)], -1).reshape(-1, 2)
    rng = np.random.default_rng(4)
    for _ in range(20):
        devices = int(rng.integers(2, 10))
        channels = iid_channels(rng, 2, devices)
        gamma = 10 ** rng.uniform(-0.5, 0.8)
        magnitudes = np.abs(grid.conj() @ channels) + radius * np.linalg.norm(channels, axis=0)
        bound = (magnitudes * np.sqrt(gamma) >= 1).sum(axis=1).max()
        schedule = solve(Problem(channels, np.ones(devices), gamma), name, parameters)
        assert schedule.active.size <= bound


@every_scheduler
@pytest.mark.parametrize("method", ["zero_forcing", "mmse"])
def test_the_tolerance_holds_for_every_channel_within_the_csi_error(name, parameters, method):
    """Against the worst channels, built one by one, and random ones."""
    rng = np.random.default_rng(5)
    served = 0
    # General solvers take seconds for what the others do in milliseconds.
    rounds = 3 if getattr(parameters, "solver", None) in ("clarabel", "scs") else 12
    for _ in range(rounds):
        bound = rng.uniform(0, 0.1, min(20, SCHEDULERS[name].max_devices or 20))
        options = {"csi_error": bound, "power": 2.0, "noise_variance": 10 ** rng.uniform(-2, 0)}
        problem = paper_problem(rng, name, 6, **options)
        schedule = solve(problem, name, parameters, coordination=method)
        if not schedule.active.size:
            continue
        verify(problem, schedule, method=method, keeps_tolerance=schedule.feasible)
        worst = true_error(problem, schedule, worst_channels(problem, schedule))
        assert schedule.computation_error == pytest.approx(worst, rel=1e-7)
        assert schedule.nominal_error == pytest.approx(
            true_error(problem, schedule, problem.channels), rel=1e-7
        )
        assert schedule.feasible == (worst <= problem.max_error * (1 + 1e-8))
        assert schedule.feasible or not SCHEDULERS[name].keeps_tolerance
        for _ in range(20):
            wrong = iid_channels(rng, 6, problem.devices)
            wrong *= bound / np.linalg.norm(wrong, axis=0)
            error = true_error(problem, schedule, problem.channels + wrong)
            assert error <= worst * (1 + 1e-9)
        served += schedule.active.size
    assert served > rounds


ANYTIME = [each for each in VARIANTS if SCHEDULERS[each.values[0]].pace == "anytime"]


@pytest.mark.parametrize(("name", "parameters"), ANYTIME)
@pytest.mark.parametrize("csi_error", [0.0, 0.02])
def test_stopped_at_once_it_serves_whom_the_easiest_device_lets_it_serve(
    name, parameters, csi_error
):
    """The easiest has the largest γ‖h_k‖²/φ_k². Wrong estimates may make it cost too much."""
    rng = np.random.default_rng(6)
    sizes = []
    for _ in range(30):
        problem = replace(random_problem(rng), csi_error=csi_error)
        schedule = solve(problem, name, parameters, np.ones(1, bool))
        verify(problem, schedule)
        assert schedule.stopped == "deadline" or schedule.optimal
        levels = problem.gamma * np.linalg.norm(problem.channels, axis=0) ** 2 / problem.weights**2
        if not csi_error and levels.max() >= 1:
            matched = problem.channels[:, np.argmax(levels)]
            gains = np.abs(matched.conj() @ problem.channels / np.linalg.norm(matched)) ** 2
            easily = np.count_nonzero(problem.gamma * gains >= problem.weights**2)
            assert schedule.active.size >= easily > 0
        if levels.max() < 1:
            assert schedule.active.size == 0
        sizes.append(schedule.active.size)
    assert max(sizes) > 1
    assert sum(sizes) > 10
