"""The bound with a surface: it must hold, whatever the phases."""

import numpy as np
import pytest

from app.scheduling import IRS_SCHEDULERS, IrsProblem, SolveSpec, solve, with_bound
from app.scheduling.irs.schedulers.dual_pursuit import IrsDualPursuitParameters
from lab.channels import iid_channels
from lab.oracles.exhaustive import most_value
from lab.problems import random_irs_problem
from tests.scheduling.irs.problems import surface_problem
from tests.scheduling.irs.test_priorities import every_choice


def one_device(rng, antennas, elements, gamma):
    return IrsProblem(
        iid_channels(rng, antennas, 1),
        iid_channels(rng, antennas, elements),
        iid_channels(rng, elements, 1),
        np.ones(1),
        gamma,
    )


def largest_norm(problem, rng, starts=40):
    """Return the largest ‖h(μ)‖ that alternating from many starts finds."""
    columns = np.column_stack(
        [problem.direct[:, 0], problem.irs_to_server * problem.devices_to_irs[:, 0]]
    )
    best = 0.0
    for _ in range(starts):
        phases = np.exp(2j * np.pi * rng.random(columns.shape[1]))
        for _ in range(400):
            phases = np.exp(1j * np.angle(columns.conj().T @ (columns @ phases)))
        best = max(best, float(np.linalg.norm(columns @ phases)))
    return best


@pytest.mark.parametrize(("antennas", "elements"), [(1, 6), (2, 3), (4, 8), (6, 24)])
def test_one_device_counts_if_and_about_only_if_some_phases_serve_it(antennas, elements):
    rng = np.random.default_rng(90)
    for _ in range(10):
        start = one_device(rng, antennas, elements, 1.0)
        reach = largest_norm(start, rng)
        for share, bound in ((1 - 1e-9, 1), (1.08, 0)):
            # It needs this share of the largest norm.
            problem = IrsProblem(
                start.direct,
                start.irs_to_server,
                start.devices_to_irs,
                start.weights,
                1 / (share * reach) ** 2,
            )
            found = solve(problem, "matching_pursuit", bound=True, bound_ms=1000.0)
            assert found.upper_bound == bound, (share, reach)


def test_with_one_antenna_the_bound_of_a_device_is_exact():
    rng = np.random.default_rng(91)
    for share, bound in ((1 - 1e-8, 1), (1 + 1e-8, 0)):
        start = one_device(rng, 1, 9, 1.0)
        reach = np.abs(start.direct).sum() + np.abs(start.irs_to_server) @ np.abs(
            start.devices_to_irs
        )
        problem = IrsProblem(
            start.direct,
            start.irs_to_server,
            start.devices_to_irs,
            start.weights,
            float(1 / (share * reach[0, 0]) ** 2),
        )
        assert solve(problem, "no_irs", bound=True, bound_ms=1000.0).upper_bound == bound


def test_no_choice_of_phases_serves_more():
    rng = np.random.default_rng(92)
    below = 0
    for _ in range(25):
        problem = random_irs_problem(rng, max_devices=6)
        elements = min(3, problem.elements)
        problem = IrsProblem(
            problem.direct,
            problem.irs_to_server[:, :elements],
            problem.devices_to_irs[:elements],
            problem.weights,
            problem.gamma,
            problem.power,
            problem.noise_variance,
            phase_bits=1,
        )
        best = max(most_value(tuned) for tuned in every_choice(problem))
        schedule = solve(problem, "matching_pursuit", bound=True)
        assert best <= schedule.upper_bound
        below += schedule.upper_bound < problem.devices
    # Otherwise the number of devices would do as well.
    assert below > 3


def test_a_long_search_never_exceeds_it():
    rng = np.random.default_rng(93)
    many = IrsDualPursuitParameters(starts=20)
    attained = below = 0
    for seed, gamma_db in enumerate([-18, -15, -13, -11, -9, -6] * 2):
        problem = surface_problem(rng, gamma_db)
        found = solve(problem, "dual_pursuit", many, seed=seed, bound=True)
        assert found.active.size <= found.upper_bound
        assert found.optimal == (found.active.size == found.upper_bound)
        attained += found.optimal
        below += found.upper_bound < problem.devices
    assert attained > 0
    assert below > 0


def test_errors_of_the_estimates_count():
    """A device that the errors rule out even alone is not in the bound."""
    rng = np.random.default_rng(94)
    exact = surface_problem(rng, -6)
    wrong = IrsProblem(
        exact.direct,
        exact.irs_to_server,
        exact.devices_to_irs,
        exact.weights,
        exact.gamma,
        csi_error=np.array([100.0] + [0.0] * 9),
    )
    assert solve(exact, "no_irs", bound=True).upper_bound == 10
    assert solve(wrong, "no_irs", bound=True).upper_bound == 9


def test_after_the_deadline_the_bound_still_holds():
    problem = surface_problem(np.random.default_rng(95), -16)
    schedule = solve(problem, "matching_pursuit")
    scheduler = IRS_SCHEDULERS["matching_pursuit"]
    spec = SolveSpec(scheduler, scheduler.parameters(), bound=True, bound_ms=1000.0)
    late = with_bound(problem, schedule, spec, np.ones(1, np.bool_))
    timely = with_bound(problem, schedule, spec)
    assert schedule.active.size <= timely.upper_bound < late.upper_bound <= problem.devices
