"""What every scheduler that tunes a surface must satisfy, for every one that is registered."""

import pickle
from dataclasses import fields, replace

import numpy as np
import pytest

from app.scheduling import IRS_SCHEDULERS, IrsProblem, solve, verify
from lab.channels import iid_channels
from lab.problems import random_irs_problem
from tests.scheduling.formulas import assert_formulas_hold, worst_error
from tests.scheduling.irs.problems import surface_problem

VARIANTS = [
    pytest.param(name, parameters, id=f"{name}-{'-'.join(map(str, vars(parameters).values()))}")
    for name, scheduler in IRS_SCHEDULERS.items()
    for parameters in scheduler.variants()
]
every_scheduler = pytest.mark.parametrize(("name", "parameters"), VARIANTS)


@every_scheduler
def test_formulas_hold_on_the_tuned_channel(name, parameters):
    rng = np.random.default_rng(1)
    served_somebody = 0
    for _ in range(30):
        problem = random_irs_problem(rng)
        schedule = solve(problem, name, parameters)
        verify(problem, schedule, uses_surface=IRS_SCHEDULERS[name].uses_surface)
        assert schedule.phases.shape == (problem.elements,)
        if IRS_SCHEDULERS[name].uses_surface:
            assert np.abs(np.abs(schedule.phases) - 1).max() <= 1e-12
            if problem.phase_bits:
                turns = np.angle(schedule.phases) / (2 * np.pi) * 2**problem.phase_bits
                assert np.abs(turns - np.round(turns)).max() <= 1e-9
        else:
            assert not schedule.phases.any()
        tuned = [tuned_channel(problem, schedule.phases, k) for k in range(problem.devices)]
        served_somebody += assert_formulas_hold(problem, schedule, tuned)
    assert served_somebody > 15


def tuned_channel(problem, phases, k):
    h = problem.direct[:, k].copy()
    for m in range(problem.elements):
        h += problem.irs_to_server[:, m] * phases[m] * problem.devices_to_irs[m, k]
    return h


@every_scheduler
@pytest.mark.parametrize("bits", [None, 2])
def test_same_seed_same_answer_and_inputs_untouched(name, parameters, bits):
    problem = surface_problem(np.random.default_rng(2), phase_bits=bits)
    before = pickle.dumps(problem)
    first = solve(problem, name, parameters, seed=7)
    second = solve(problem, name, parameters, seed=7)
    # As a worker process would have it.
    third = solve(pickle.loads(before), name, parameters, seed=7)
    for other in (second, third):
        for item, value in first._asdict().items():
            np.testing.assert_array_equal(getattr(other, item), value)
    assert pickle.dumps(problem) == before


@every_scheduler
def test_permuting_the_elements_permutes_the_phases(name, parameters):
    rng = np.random.default_rng(3)
    for bits in (None, 3):
        problem = surface_problem(rng, phase_bits=bits)
        order = rng.permutation(problem.elements)
        permuted = replace(
            problem,
            irs_to_server=problem.irs_to_server[:, order],
            devices_to_irs=problem.devices_to_irs[order],
        )
        plain = solve(problem, name, parameters, seed=5)
        other = solve(permuted, name, parameters, seed=5)
        np.testing.assert_allclose(other.phases, plain.phases[order], atol=1e-9)
        assert other.active.tolist() == plain.active.tolist()


@every_scheduler
@pytest.mark.parametrize("silent", ["irs_to_server", "devices_to_irs"])
def test_without_any_effect_of_the_surface_the_answer_is_that_of_schedule(name, parameters, silent):
    plain_name = {"random_phases": "matching_pursuit", "no_irs": "matching_pursuit"}.get(name, name)
    plain_name = getattr(parameters, "scheduled_by", plain_name)
    rng = np.random.default_rng(4)
    for gamma_db in (-3, 0, 3):
        start = np.exp(2j * np.pi * rng.random(8))
        problem = surface_problem(rng, gamma_db, initial_phases=start)
        problem = replace(problem, **{silent: np.zeros_like(getattr(problem, silent))})
        options = {"seed": 3, "warm_start": iid_channels(rng, 4, 1)[:, 0], "polish": True}
        found = solve(problem, name, parameters, coordination="mmse", **options)
        expected = solve(problem.without_surface, plain_name, coordination="mmse", **options)
        assert expected.active.size
        np.testing.assert_array_equal(found.active, expected.active)
        np.testing.assert_array_equal(found.receiver, expected.receiver)
        np.testing.assert_array_equal(found.transmit_scalars, expected.transmit_scalars)
        assert found.power_factor == expected.power_factor
        assert found.stopped == expected.stopped
        if name not in ("random_phases", "no_irs"):
            np.testing.assert_allclose(found.phases, start, rtol=0, atol=1e-15)


DEGENERATE = {
    "one of each": ([[0.5 + 1j]], [[1j]], [[0.3]]),
    "one antenna": ([[1.0, 0.2, 2.0]], [[1.0, 1j]], [[0.1, 1, 0], [1, 0, 0.5]]),
    "one device": ([[1.0], [1.0j]], [[0.5, 1], [1, 1]], [[1j], [1]]),
    "one element": ([[1, 0.2], [0.3, 1]], [[1], [0.5]], [[1, 2]]),
    "no direct channels": (np.zeros((2, 3)), np.ones((2, 2)), np.ones((2, 3))),
    "nothing at all": (np.zeros((2, 3)), np.zeros((2, 2)), np.zeros((2, 3))),
    "zero column": ([[1, 0, 1], [1j, 0, 0.5]], [[1, 1], [1, 1j]], [[1, 0, 1j], [0.5, 0, 1]]),
    "cancelling": (np.ones((1, 2)), -np.ones((1, 1)), np.ones((1, 2))),
    "equal elements": (np.ones((2, 2)), np.ones((2, 3)), np.ones((3, 2))),
    "huge": (np.full((2, 3), 1e29), np.full((2, 2), 1e14), np.full((2, 3), 1e14)),
    "tiny": (np.full((2, 3), 1e-29), np.full((2, 2), 1e-14), np.full((2, 3), 1e-14)),
    "huge and tiny": ([[1e29, 1e-29]], [[1e-29, 1e29]], [[1e29, 1], [1e-29, 1e-3]]),
    "vanishing": (np.full((2, 2), 1e-200), np.full((2, 2), 1e-200), np.full((2, 2), 1e-200)),
}


@every_scheduler
@pytest.mark.parametrize("case", DEGENERATE)
@pytest.mark.parametrize("gamma", [1e-30, 0.5, 2.0, 1e30])
def test_degenerate_problems(name, parameters, case, gamma):
    direct, to_server, to_surface = (np.array(part, complex) for part in DEGENERATE[case])
    for bits in (None, 1):
        problem = IrsProblem(
            direct, to_server, to_surface, np.ones(direct.shape[1]), gamma, phase_bits=bits
        )
        solve(problem, name, parameters, coordination="mmse", polish=True)  # verified inside
        schedule = solve(problem, name, parameters)
        reach = np.linalg.norm(direct, axis=0) + np.linalg.norm(to_server, axis=0) @ np.abs(
            to_surface
        )
        servable = np.flatnonzero(reach**2 * gamma >= 1 - 1e-9).tolist()
        assert set(schedule.active.tolist()) <= set(servable)


@every_scheduler
def test_the_tolerance_holds_for_every_tuned_channel_within_the_csi_error(name, parameters):
    rng = np.random.default_rng(6)
    served = 0
    for _ in range(10):
        problem = surface_problem(
            rng, 3, csi_error=rng.uniform(0, 0.1, 10), noise_variance=10 ** rng.uniform(-2, 0)
        )
        schedule = solve(problem, name, parameters)
        if schedule.active.size:
            served += schedule.active.size
            worst = worst_error(problem.tuned(schedule.phases), schedule)
            assert schedule.computation_error == pytest.approx(worst, rel=1e-7)
            assert worst <= problem.gamma * problem.noise_variance / problem.power * (1 + 1e-8)
    assert served > 10


def test_every_field_survives_pickling():
    problem = surface_problem(np.random.default_rng(7), phase_bits=2, csi_error=0.1)
    copy = pickle.loads(pickle.dumps(problem))
    for item in fields(IrsProblem):
        if item.name != "without_surface":
            np.testing.assert_array_equal(getattr(copy, item.name), getattr(problem, item.name))
    assert not copy.direct.flags.writeable
    assert not copy.weights.flags.writeable
    assert not copy.required_gains.flags.writeable


@every_scheduler
def test_stopped_at_once_it_serves_whom_the_easiest_device_lets_it_serve(name, parameters):
    """With the initial phases, or others that are no worse."""
    if IRS_SCHEDULERS[name].pace == "slow":
        pytest.skip("its process is killed at the deadline")
    rng = np.random.default_rng(8)
    sizes = []
    for _ in range(30):
        problem = random_irs_problem(rng)
        schedule = solve(problem, name, parameters, np.ones(1, bool))
        verify(problem, schedule, uses_surface=IRS_SCHEDULERS[name].uses_surface)
        assert schedule.stopped == "deadline"
        reflected = (problem.irs_to_server * problem.initial_phases) @ problem.devices_to_irs
        channels = problem.direct + reflected
        levels = problem.gamma * np.linalg.norm(channels, axis=0) ** 2 / problem.weights**2
        if name in ("dual_pursuit", "matching_pursuit") and levels.max() >= 1:
            assert schedule.active.size
        sizes.append(schedule.active.size)
    assert sum(sizes) > 10
