"""The invariants of a problem with a surface."""

import numpy as np
import pytest

from app.scheduling import (
    InvalidProblemError,
    IrsProblem,
    Schedule,
    VerificationError,
    solve,
    verify,
)
from lab.channels import iid_channels
from lab.problems import random_irs_problem

GOOD = {
    "direct": np.ones((2, 3)),
    "irs_to_server": np.ones((2, 4)),
    "devices_to_irs": np.ones((4, 3)),
    "weights": np.ones(3),
    "gamma": 1.0,
}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"direct": np.ones(3)}, "direct"),
        ({"direct": np.full((2, 3), np.nan)}, "direct"),
        ({"irs_to_server": np.ones((3, 4))}, "irs_to_server"),
        ({"irs_to_server": np.ones(2)}, "irs_to_server"),
        ({"irs_to_server": np.ones((2, 0)), "devices_to_irs": np.ones((0, 3))}, "irs_to_server"),
        ({"irs_to_server": np.full((2, 4), np.inf)}, "irs_to_server"),
        ({"irs_to_server": np.full((2, 4), 1e31)}, "irs_to_server"),
        ({"devices_to_irs": np.ones((4, 2))}, "devices_to_irs"),
        ({"devices_to_irs": np.ones((3, 4))}, "devices_to_irs"),
        ({"devices_to_irs": np.full((4, 3), np.nan)}, "devices_to_irs"),
        (
            {"irs_to_server": np.full((2, 4), 1e20), "devices_to_irs": np.full((4, 3), 1e20)},
            "devices_to_irs",
        ),
        ({"weights": np.ones(2)}, "weights"),
        ({"weights": np.zeros(3)}, "weights"),
        ({"gamma": 0.0}, "gamma"),
        ({"power": -1.0}, "power"),
        ({"csi_error": -1.0}, "csi_error"),
        ({"phase_bits": 0}, "phase_bits"),
        ({"phase_bits": 17}, "phase_bits"),
        ({"initial_phases": np.ones(3)}, "initial_phases"),
        ({"initial_phases": np.full(4, 1.001)}, "initial_phases"),
        ({"initial_phases": np.zeros(4)}, "initial_phases"),
        ({"initial_phases": np.full(4, np.nan)}, "initial_phases"),
    ],
)
def test_bad_arguments_are_named(change, field):
    with pytest.raises(InvalidProblemError) as error:
        IrsProblem(**GOOD | change)
    assert error.value.field == field


def test_tuned_channels_are_those_of_the_formula():
    rng = np.random.default_rng(92)
    for _ in range(20):
        problem = random_irs_problem(rng, csi_error=0.1)
        phases = problem.grid.random(rng, problem.elements)
        tuned = problem.tuned(phases)
        expected = problem.direct + problem.irs_to_server @ np.diag(phases) @ problem.devices_to_irs
        np.testing.assert_allclose(tuned.channels, expected, atol=1e-13)
        np.testing.assert_array_equal(tuned.required_gains, problem.required_gains)
        assert (tuned.gamma, tuned.power) == (problem.gamma, problem.power)


def test_initial_phases_are_brought_to_the_circle_and_the_grid():
    rough = np.exp(1j * np.array([0.1, 1.4, -3.0, 2.0])) * (1 + 1e-8)
    free = IrsProblem(**GOOD, initial_phases=rough)
    np.testing.assert_allclose(np.abs(free.start()), 1, rtol=0, atol=1e-15)
    np.testing.assert_allclose(free.start(), rough, atol=2e-8)
    on_grid = IrsProblem(**GOOD, initial_phases=rough, phase_bits=2)
    np.testing.assert_allclose(on_grid.start(), [1, 1j, -1, 1j], atol=1e-15)
    np.testing.assert_array_equal(IrsProblem(**GOOD).start(), np.ones(4))


def test_problems_do_not_share_memory_with_their_arguments():
    direct = iid_channels(np.random.default_rng(93), 2, 3)
    problem = IrsProblem(**GOOD | {"direct": direct})
    direct[:] = 0
    assert problem.direct.all()
    with pytest.raises(ValueError, match="read-only"):
        problem.irs_to_server[0, 0] = 2


@pytest.mark.parametrize(
    ("phases", "says"),
    [
        (None, "needs a phase"),
        (np.ones(3, complex), "needs a phase"),
        (np.full(4, 1 + 1e-6, complex), "unit modulus"),
        (np.full(4, np.exp(0.1j)), "allowed"),
        (-np.ones(4, complex), "beyond the tolerance|sum|error"),
    ],
)
def test_verification_refuses_wrong_phases(phases, says):
    problem = IrsProblem(**GOOD, phase_bits=1)
    schedule: Schedule = solve(problem)
    verify(problem, schedule)
    with pytest.raises(VerificationError, match=says):
        verify(problem, schedule._replace(phases=phases))


def test_verification_refuses_phases_without_a_surface():
    problem = IrsProblem(**GOOD).without_surface
    schedule = solve(problem)._replace(phases=np.ones(4, complex))
    with pytest.raises(VerificationError, match="no surface"):
        verify(problem, schedule)
    absent = solve(IrsProblem(**GOOD), "no_irs")._replace(phases=np.ones(4, complex))
    with pytest.raises(VerificationError, match="reflects nothing"):
        verify(IrsProblem(**GOOD), absent, uses_surface=False)
