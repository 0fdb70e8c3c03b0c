"""Algorithm 2 against its plain NumPy version, and against phases at random."""

from dataclasses import replace

import numpy as np
import pytest

from app.scheduling import solve
from app.scheduling.irs.phases import PhaseGrid
from app.scheduling.irs.schedulers.matching_pursuit import IrsMatchingPursuitParameters
from lab.oracles import plain_joint_pursuit
from lab.problems import random_irs_problem
from tests.scheduling.irs.problems import surface_problem


@pytest.mark.parametrize("policy", ["mm", "bcd"])
@pytest.mark.parametrize("bits", [None, 1, 3])
def test_agrees_with_the_plain_version(policy, bits):
    rng = np.random.default_rng(80)
    scheduled = 0
    for _ in range(40):
        problem = random_irs_problem(rng, phase_bits=bits)
        if rng.integers(2):
            start = PhaseGrid(bits).random(rng, problem.elements)
            problem = replace(problem, initial_phases=start)
        parameters = IrsMatchingPursuitParameters(rng.uniform(0.2, 0.8), policy)
        schedule = solve(problem, "matching_pursuit", parameters)
        receiver, active, phases, iterations = plain_joint_pursuit.backward(
            problem.direct,
            problem.irs_to_server,
            problem.devices_to_irs,
            problem.required_gains,
            parameters.delta,
            policy,
            0 if bits is None else 2**bits,
            problem.start(),
        )
        assert schedule.active.tolist() == np.flatnonzero(active).tolist()
        if schedule.active.size:
            scheduled += 1
            assert schedule.iterations == iterations
            np.testing.assert_allclose(schedule.phases, phases, atol=1e-6)
            assert abs(np.vdot(schedule.receiver, receiver)) == pytest.approx(1, abs=1e-6)
    assert scheduled > 20


@pytest.mark.parametrize("policy", ["mm", "bcd"])
def test_tuning_schedules_more_than_any_of_many_random_phases_on_average(policy):
    rng = np.random.default_rng(81)
    tuned, untuned = 0, 0
    for seed in range(20):
        problem = surface_problem(rng, -6, 32, 6, 20)
        parameters = IrsMatchingPursuitParameters(phase_update=policy)
        tuned += solve(problem, "matching_pursuit", parameters).active.size
        untuned += max(
            solve(problem, "random_phases", seed=20 * seed + i).active.size for i in range(5)
        )
    assert tuned > untuned
