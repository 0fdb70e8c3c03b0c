"""Verification must catch every broken formula."""

from dataclasses import replace

import numpy as np
import pytest

from app.scheduling import Problem, VerificationError, solve, verify
from lab.channels import iid_channels


@pytest.fixture(scope="module")
def problem():
    return Problem(
        iid_channels(np.random.default_rng(6), 4, 8),
        np.linspace(0.8, 1.2, 8),
        gamma=1.5,
        power=2.0,
        noise_variance=0.5,
    )


@pytest.fixture(scope="module")
def schedule(problem):
    schedule = solve(problem)
    assert 2 <= schedule.active.size < 8
    return schedule


def test_a_right_schedule_passes(problem, schedule):
    verify(problem, schedule)


BROKEN = {
    "ascending": lambda s: {"active": s.active[::-1]},
    "unit norm": lambda s: {"receiver": s.receiver * 1.001},
    "inactive": lambda s: {"transmit_scalars": np.where(s.transmit_scalars, s.transmit_scalars, 1)},
    # Everything larger: the sum is right, but someone sends with more power than there is.
    "power limit": lambda s: {
        "transmit_scalars": s.transmit_scalars * 1.1,
        "power_factor": s.power_factor * 1.21,
    },
    "weighted sum": lambda s: {"transmit_scalars": s.transmit_scalars * np.exp(0.1j)},
    "that of the transmission": lambda s: {"computation_error": s.computation_error * 1.01},
    "beyond the tolerance": lambda s: {"feasible": False},
    "need a receiver": lambda s: {"receiver": None},
    "empty schedule": lambda s: {"active": s.active[:0]},
}


@pytest.mark.parametrize("formula", BROKEN)
def test_a_broken_formula_is_caught(problem, schedule, formula):
    with pytest.raises(VerificationError, match=formula):
        verify(problem, schedule._replace(**BROKEN[formula](schedule)))


def test_a_device_that_just_misses_the_tolerance_is_caught(problem, schedule):
    responses = np.abs(schedule.receiver.conj() @ problem.channels)[schedule.active]
    exact = (problem.weights[schedule.active] / responses).max() ** 2
    for share, right in ((1 + 1e-6, True), (1.0, True), (1 - 1e-6, False)):
        told = replace(problem, gamma=exact * share)
        if right:
            verify(told, schedule)
        else:
            with pytest.raises(VerificationError, match="beyond the tolerance"):
                verify(told, schedule)


def test_a_single_device_that_should_be_silent_is_caught(problem, schedule):
    for device in set(range(problem.devices)) - set(schedule.active.tolist()):
        scalars = schedule.transmit_scalars.copy()
        scalars[device] = 1e-3
        with pytest.raises(VerificationError, match="inactive"):
            verify(problem, schedule._replace(transmit_scalars=scalars))


def test_a_device_beyond_the_tolerance_is_caught(problem, schedule):
    strict = Problem(
        problem.channels,
        problem.weights,
        gamma=problem.gamma / 100,
        power=problem.power,
        noise_variance=problem.noise_variance,
    )
    with pytest.raises(VerificationError, match="beyond the tolerance"):
        verify(strict, schedule)
    verify(strict, schedule._replace(feasible=False), keeps_tolerance=False)
