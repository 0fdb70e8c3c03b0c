"""Options of a solve: checked once, by the core, and the same after a trip to another process."""

import pickle
from dataclasses import fields, replace

import numpy as np
import pytest

from app.scheduling import (
    SCHEDULERS,
    InvalidProblemError,
    IrsProblem,
    Problem,
    SolveSpec,
    coordination,
    plain,
    solve,
    solve_specified,
)
from app.scheduling.solver import solve_each
from lab.channels import iid_channels

DUAL = SCHEDULERS["dual_pursuit"]
PROBLEM = Problem(iid_channels(np.random.default_rng(3), 4, 9), np.ones(9), gamma=0.6)


def spec_of(**options):
    return SolveSpec(DUAL, DUAL.parameters(starts=2), **options)


@pytest.mark.parametrize(
    ("start", "says"),
    [
        ([1.0, np.nan], "finite"),
        ([1.0, 1j * np.inf], "finite"),
        ([1.0, 1e31], "at most"),
        (["a", "b"], "numbers"),
    ],
)
def test_a_warm_start_is_checked(start, says):
    with pytest.raises(InvalidProblemError, match=says) as caught:
        spec_of(warm_start=start)
    assert caught.value.field == "warm_start"


@pytest.mark.parametrize("entries", [0, 3, 5])
def test_a_warm_start_of_another_length_does_not_suit(entries):
    spec = spec_of(warm_start=np.ones(entries))
    with pytest.raises(InvalidProblemError, match=rf"\[4\], not \[{entries}\]"):
        spec.require_suited(PROBLEM)


def test_the_warm_start_is_a_copy_that_nobody_can_change():
    start = np.ones(4, complex)
    spec = spec_of(warm_start=start)
    start[0] = 5
    assert spec.warm_start[0] == 1
    with pytest.raises(ValueError, match="read-only"):
        spec.warm_start[0] = 2


def test_every_option_matters_and_reaches_the_solver():
    receiver = np.exp(1j * np.arange(4))
    options = {"seed": 3, "warm_start": receiver, "coordination": "mmse", "polish": True}
    options |= {"bound": True, "bound_ms": 500.0}
    assert options.keys() == {item.name for item in fields(SolveSpec)[2:]}
    found = solve_specified(PROBLEM, spec_of(**options))
    expected = solve(
        PROBLEM,
        "dual_pursuit",
        DUAL.parameters(starts=2),
        seed=3,
        warm_start=receiver,
        coordination="mmse",
        polish=True,
        bound=True,
    )
    np.testing.assert_array_equal(found.transmit_scalars, expected.transmit_scalars)
    assert found.upper_bound == expected.upper_bound >= found.active.size
    plain = solve_specified(PROBLEM, spec_of())
    assert not np.array_equal(found.transmit_scalars, plain.transmit_scalars)
    assert plain.upper_bound is None


@pytest.mark.parametrize(("milliseconds", "bound"), [(5.0, False), (0.0, True), (np.nan, True)])
def test_the_time_for_a_bound_is_checked(milliseconds, bound):
    with pytest.raises(InvalidProblemError, match=r"needs bound|positive") as caught:
        spec_of(bound=bound, bound_ms=milliseconds)
    assert caught.value.field == "bound_ms"


IRS = IrsProblem(
    direct=PROBLEM.channels,
    irs_to_server=np.ones((4, 3)),
    devices_to_irs=np.ones((3, 9)),
    weights=np.arange(1.0, 10.0),
    gamma=0.5,
    power=2.0,
    noise_variance=3.0,
    csi_error=np.full(9, 0.01),
    phase_bits=2,
    initial_phases=np.array([1, 1j, -1]),
    priorities=np.arange(9.0, 0.0, -1.0),
)
FULL = Problem(
    *(PROBLEM.channels, np.arange(1.0, 10.0), 0.5, 2.0, 3.0, np.full(9, 0.01)),
    priorities=np.arange(9.0, 0.0, -1.0),
)


@pytest.mark.parametrize("name", ["optimal", "dual_pursuit"])
@pytest.mark.parametrize("csi_error", [0.0, 0.01])
def test_proofs_come_after_all_schedules_and_take_the_time_they_are_given(
    monkeypatch, name, csi_error
):
    """Unless the search has proven its own."""
    steps = []

    def coordinated(*arguments):
        steps.append("schedule")
        return coordination.coordinated(*arguments)

    def bounded(problem, known, context, seconds):
        steps.append(seconds)
        return problem.devices

    monkeypatch.setattr(plain, "coordinated", coordinated)
    monkeypatch.setattr(plain, "bounded", bounded)
    scheduler = SCHEDULERS[name]
    spec = SolveSpec(scheduler, scheduler.parameters(), bound=True, bound_ms=500.0)
    problems = [replace(PROBLEM, csi_error=csi_error)] * 2
    solve_each(problems, spec, np.zeros(1, np.bool_))
    proofs = [] if name == "optimal" and not csi_error else [0.5, 0.5]
    assert steps[len(steps) - len(proofs) :] == proofs
    assert set(steps[: len(steps) - len(proofs)]) == {"schedule"}


@pytest.mark.parametrize(
    "value",
    [
        FULL,
        IRS,
        spec_of(
            seed=3,
            warm_start=np.ones(4),
            coordination="mmse",
            polish=True,
            bound=True,
            bound_ms=5.0,
        ),
    ],
)
def test_nothing_is_lost_on_the_way_to_a_solver_process(value):
    arrived = pickle.loads(pickle.dumps(value))
    for item in fields(value):
        before, after = getattr(value, item.name), getattr(arrived, item.name)
        if isinstance(before, np.ndarray):
            np.testing.assert_array_equal(after, before)
            assert after.flags.writeable == before.flags.writeable
        elif not isinstance(before, Problem):
            assert after == before
        if item.init and item.name not in {"scheduler", "parameters"}:
            assert np.any(before != item.default), f"{item.name}: give it another value here"
