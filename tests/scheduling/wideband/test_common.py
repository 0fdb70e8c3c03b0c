"""What every scheduler of a band must satisfy, for every one that is registered."""

import pickle
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from app.scheduling import (
    WIDEBAND_SCHEDULERS,
    DeadlineExceededError,
    InvalidProblemError,
    VerificationError,
    WidebandProblem,
    solve,
    verify,
)
from app.scheduling.polishing import polish
from app.scheduling.wideband.cell import state
from lab.oracles.wideband_optimum import optimum
from lab.problems import band_problems, random_wideband_problem
from tests.scheduling.formulas import assert_formulas_hold, worst_error

every_scheduler = pytest.mark.parametrize("name", WIDEBAND_SCHEDULERS)
both_criteria = pytest.mark.parametrize("criterion", ["mean", "each"])


def assert_band_formulas_hold(problem, schedule):
    """Check every subcarrier as a plain schedule, then the criterion; whether anybody is served."""
    if not schedule.active.size:
        assert not schedule.feasible
        assert not schedule.transmit_scalars.any()
        assert schedule.receiver is None
        return False
    tolerated = problem.gamma * problem.noise_variance / problem.power
    for f in range(problem.subcarriers):
        tone = SimpleNamespace(
            active=schedule.active,
            receiver=schedule.receiver[f],
            transmit_scalars=schedule.transmit_scalars[f],
            power_factor=schedule.power_factors[f],
            computation_error=schedule.computation_errors[f],
            feasible=schedule.computation_errors[f] <= tolerated * (1 + 1e-8),
        )
        each = problem.criterion == "each"
        assert_formulas_hold(problem, tone, problem.channels[f].T, keeps_tolerance=each)
    errors = schedule.computation_errors
    compared = errors.mean() if problem.criterion == "mean" else errors.max()
    assert schedule.computation_error == pytest.approx(compared)
    assert compared <= tolerated * (1 + 1e-8)
    assert schedule.feasible
    return True


@every_scheduler
@pytest.mark.parametrize("polish", [False, True])
def test_formulas_hold(name, polish):
    rng = np.random.default_rng(1)
    served = 0
    for _ in range(60):
        problem = random_wideband_problem(rng)
        schedule = solve(problem, name, polish=polish)
        verify(problem, schedule)
        served += assert_band_formulas_hold(problem, schedule)
    assert served > 15


@every_scheduler
def test_same_seed_same_answer_and_inputs_untouched(name):
    (problem,) = band_problems(1, 4, 6, 20, 0)
    before = pickle.dumps(problem)
    first = solve(problem, name, seed=7)
    # The second as a worker process would have it.
    for second in (solve(problem, name, seed=7), solve(pickle.loads(before), name, seed=7)):
        np.testing.assert_array_equal(first.active, second.active)
        np.testing.assert_array_equal(first.receiver, second.receiver)
        np.testing.assert_array_equal(first.transmit_scalars, second.transmit_scalars)
    assert pickle.dumps(problem) == before


@every_scheduler
@both_criteria
@pytest.mark.parametrize(
    "channels",
    [
        pytest.param(np.array([[[0.5 + 1j]]]), id="one of each"),
        pytest.param(np.array([[[1.0, 0.2, 2.0]], [[1.0, 3.0, 0.1]]]), id="one antenna"),
        pytest.param(np.zeros((2, 2, 3)), id="all zero"),
        pytest.param(np.array([[[1, 2], [1j, 1]], [[0, 2], [0, 1]]]), id="a faded subcarrier"),
        pytest.param(np.ones((3, 3, 4)), id="equal devices"),
        pytest.param(np.full((2, 2, 3), 1e29), id="huge"),
        pytest.param(np.full((2, 2, 3), 1e-29), id="tiny"),
        pytest.param(np.array([[[1e29, 1e-29, 1.0]], [[1.0, 1.0, 1e-29]]]), id="huge and tiny"),
        pytest.param(np.full((2, 2, 2), 1e-200), id="vanishing"),
    ],
)
@pytest.mark.parametrize("gamma", [1e-30, 0.5, 2.0, 1e30])
def test_degenerate_problems(name, criterion, channels, gamma):
    devices = channels.shape[2]
    problem = WidebandProblem(channels, np.ones(devices), gamma, criterion=criterion)
    solve(problem, name, coordination="mmse", polish=True)  # verified inside
    schedule = solve(problem, name)
    with np.errstate(divide="ignore"):
        alone = 1 / (gamma * (np.abs(channels) ** 2).sum(axis=1))
    alone = alone.mean(axis=0) if criterion == "mean" else alone.max(axis=0)
    servable = np.flatnonzero(alone <= 1 + 1e-9)
    assert set(schedule.active.tolist()) <= set(servable.tolist())
    if channels.shape[1] == 1 and criterion == "each":
        # With one antenna there is one receiver: everyone servable alone is served at once.
        assert schedule.active.tolist() == servable.tolist()


@every_scheduler
@both_criteria
def test_never_more_devices_than_the_optimum(name, criterion):
    for problem in band_problems(8, 3, 2, 6, 1, seed=4, taps=3, criterion=criterion):
        assert solve(problem, name).active.size <= optimum(problem)


@every_scheduler
@both_criteria
def test_the_tolerance_holds_for_every_channel_within_the_csi_error(name, criterion):
    """Against the worst channels, built for every device on every subcarrier."""
    rng = np.random.default_rng(5)
    served = 0
    for plain in band_problems(10, 3, 6, 12, 12, seed=6, taps=2, criterion=criterion):
        problem = replace(plain, csi_error=rng.uniform(0, 0.3, 12))
        schedule = solve(problem, name, polish=True)
        served += schedule.active.size
        errors = [
            worst_error(
                problem.subcarrier(f),
                schedule._replace(
                    receiver=schedule.receiver[f],
                    power_factor=schedule.power_factors[f],
                    transmit_scalars=schedule.transmit_scalars[f],
                ),
            )
            for f in range(problem.subcarriers)
        ]
        worst = np.mean(errors) if criterion == "mean" else np.max(errors)
        assert schedule.computation_error == pytest.approx(worst, rel=1e-7)
        assert schedule.nominal_error < worst <= problem.max_error * (1 + 1e-8)
    assert served > 20


@every_scheduler
@pytest.mark.parametrize("method", ["zero_forcing", "mmse"])
def test_any_magnitude_of_errors_and_noise(name, method):
    """Where the error is all rounding, where weak subcarriers cost everything, and in between."""
    rng = np.random.default_rng(10)
    served = 0
    for _ in range(150):
        problem = replace(
            random_wideband_problem(rng),
            gamma=10.0 ** rng.choice([-3, 0, 1, 10, 30]),
            power=10.0 ** rng.choice([-6, 0, 6]),
            noise_variance=10.0 ** rng.choice([-6, 0, 6]),
            csi_error=10.0 ** rng.uniform(-12, 1),
            criterion=str(rng.choice(["mean", "each"])),
        )
        strengths = 10.0 ** rng.uniform(-160, 29, (problem.subcarriers, 1, problem.devices))
        problem = replace(problem, channels=problem.channels * strengths)
        schedule = solve(problem, name, coordination=method)
        verify(problem, schedule, method=method)
        served += schedule.active.size
    assert served > 20


def test_mmse_may_keep_the_tolerance_where_a_device_alone_would_miss_it():
    """With zero forcing both devices have E > ε; together with mmse the worst case is within it."""
    problem = WidebandProblem(np.ones((1, 1, 2)), np.ones(2), 1.0, csi_error=0.0257)
    schedule = solve(problem, "intersection", coordination="mmse", polish=True)
    verify(problem, schedule, method="mmse")
    assert schedule.computation_error <= problem.max_error


@both_criteria
@pytest.mark.parametrize("name", ["dual_pursuit", "matching_pursuit"])
def test_stopped_at_once_it_serves_whom_the_easiest_device_lets_it_serve(name, criterion):
    rng = np.random.default_rng(9)
    served = 0
    for _ in range(30):
        problem = replace(random_wideband_problem(rng), criterion=criterion)
        schedule = solve(problem, name, stop=np.ones(1, bool))
        verify(problem, schedule)
        assert schedule.stopped == "deadline"
        norms = np.linalg.norm(problem.channels, axis=1)
        with np.errstate(divide="ignore"):
            costs = problem.weights**2 / problem.gamma / norms**2
        least = np.min(costs.mean(axis=0) if criterion == "mean" else costs.max(axis=0))
        assert (schedule.active.size > 0) == (least <= 1)
        served += schedule.active.size
    assert served > 10


def test_an_intersection_without_every_subcarrier_is_none():
    (problem,) = band_problems(1, 4, 6, 20, 0)
    with pytest.raises(DeadlineExceededError):
        solve(problem, "intersection", stop=np.ones(1, bool))


@every_scheduler
def test_takes_priorities(name):
    (problem,) = band_problems(1, 4, 6, 20, 3)
    problem = replace(problem, priorities=np.linspace(1, 5, 20))
    assert_band_formulas_hold(problem, solve(problem, name))
    with pytest.raises(InvalidProblemError, match="priorities"):
        solve(problem, name, bound=True)


def test_a_warm_start_has_a_receiver_for_every_subcarrier():
    (problem,) = band_problems(1, 4, 6, 20, 0)
    start = solve(problem, "dual_pursuit").receiver
    assert solve(problem, "dual_pursuit", warm_start=start).active.size > 0
    for wrong in (start[0], start[:3], start.T):
        with pytest.raises(InvalidProblemError, match="warm_start"):
            solve(problem, "dual_pursuit", warm_start=wrong)


@both_criteria
def test_bounds_hold(criterion):
    tight = 0
    for problem in band_problems(10, 3, 2, 7, 2, seed=7, taps=2, criterion=criterion):
        schedule = solve(problem, "dual_pursuit", bound=True, bound_ms=1000)
        assert optimum(problem) <= schedule.upper_bound
        tight += schedule.optimal
    assert tight >= (1 if criterion == "each" else 0)


@both_criteria
def test_mmse_has_no_larger_error(criterion):
    (problem,) = band_problems(1, 4, 6, 20, 0, criterion=criterion)
    forced, least = (
        solve(problem, "dual_pursuit", coordination=m) for m in ("zero_forcing", "mmse")
    )
    assert (least.computation_errors < forced.computation_errors).all()
    verify(problem, least, method="mmse")


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"computation_error": 1e-3}, "criterion"),
        ({"computation_errors": np.full(4, 1e-3)}, "computation error"),
        ({"receiver": None}, "receiver"),
        ({"feasible": False}, "tolerance"),
        ({"transmit_scalars": np.ones((4, 20))}, "transmits|power|sum"),
        ({"active": np.zeros(0, int)}, "empty"),
    ],
)
def test_verification_notices(broken, message):
    (problem,) = band_problems(1, 4, 6, 20, 0)
    schedule = solve(problem, "dual_pursuit")
    with pytest.raises(VerificationError, match=message):
        verify(problem, schedule._replace(**broken))


@both_criteria
def test_verification_notices_a_device_too_many(criterion):
    (problem,) = band_problems(1, 4, 6, 20, 6, criterion=criterion)
    schedule = solve(problem, "dual_pursuit")
    stricter = replace(problem, gamma=problem.gamma / 10)
    with pytest.raises(VerificationError, match="tolerance"):
        verify(stricter, schedule)


NOBODY = np.zeros(0, int)


@every_scheduler
@both_criteria
def test_excluded_devices_are_as_if_they_did_not_exist(name, criterion):
    excluded = np.array([1, 4, 9])
    for problem in band_problems(5, 3, 4, 12, 2, seed=8, taps=2, criterion=criterion):
        schedule = solve(state(problem, excluded, NOBODY, NOBODY), name)
        assert not np.isin(excluded, schedule.active).any()
        assert_band_formulas_hold(problem, schedule)
    kept = np.setdiff1d(np.arange(12), excluded)
    smaller = replace(problem, channels=problem.channels[:, :, kept], weights=np.ones(9))
    assert kept[solve(smaller, name).active].tolist() == schedule.active.tolist()


@every_scheduler
@both_criteria
def test_required_devices_take_part_or_nobody_does(name, criterion):
    rng = np.random.default_rng(9)
    served = refused = 0
    for problem in band_problems(20, 3, 3, 8, 1, seed=10, taps=2, criterion=criterion):
        required = np.sort(rng.permutation(8)[:3])
        schedule = solve(state(problem, NOBODY, required, NOBODY), name)
        alone = replace(problem, channels=problem.channels[:, :, required], weights=np.ones(3))
        if schedule.active.size:
            served += 1
            assert np.isin(required, schedule.active).all()
            assert schedule.required_missing is None
            assert_band_formulas_hold(problem, schedule)
        else:
            refused += 1
            # The oracle finds no receivers for them either, and finds some at the γ answered.
            assert optimum(alone) < 3
            assert np.isin(schedule.required_missing, required).all()
            assert schedule.required_gamma > problem.gamma
            easier = replace(alone, gamma=schedule.required_gamma * (1 + 1e-4))
            assert optimum(easier) == 3
    assert served >= 3
    assert refused >= 3


@both_criteria
def test_no_tolerance_serves_a_device_that_one_subcarrier_does_not_reach(criterion):
    (problem,) = band_problems(1, 3, 3, 8, 0, seed=12, criterion=criterion)
    channels = problem.channels.copy()
    channels[1, :, 2] = 0
    required = np.array([2])
    problem = state(replace(problem, channels=channels), NOBODY, required, NOBODY)
    schedule = solve(problem, "dual_pursuit")
    assert schedule.required_missing.tolist() == [2]
    assert schedule.required_gamma is None


def test_required_devices_are_not_searched_for_after_the_deadline(monkeypatch):
    calls = []

    def counted(*arguments):
        calls.append(arguments)
        return polish(*arguments)

    monkeypatch.setattr("app.scheduling.plain.polish", counted)
    (problem,) = band_problems(1, 3, 3, 8, -20, seed=13)
    problem = state(problem, NOBODY, np.array([0, 1, 2]), NOBODY)
    schedule = solve(problem, "dual_pursuit", stop=np.ones(1, np.bool_))
    assert schedule.stopped == "deadline"
    assert 1 <= len(calls) <= problem.subcarriers


def test_previous_devices_decide_between_sets_of_equal_size():
    kept = lost = 0
    for problem in band_problems(20, 3, 3, 10, 0, seed=11, taps=2):
        free = solve(problem, "dual_pursuit", seed=1)
        other = solve(problem, "dual_pursuit", seed=2)
        again = solve(state(problem, NOBODY, NOBODY, free.active), "dual_pursuit", seed=2)
        assert again.active.size >= other.active.size - 1
        kept += np.isin(free.active, again.active).sum()
        lost += np.isin(free.active, other.active).sum()
    assert kept >= lost


def test_contradictions_are_named():
    (problem,) = band_problems(1, 3, 3, 4, 0)
    with pytest.raises(InvalidProblemError, match="excluded as well"):
        state(problem, np.array([1]), np.array([1]), NOBODY)
    with pytest.raises(InvalidProblemError, match="leaves no device"):
        state(problem, np.arange(4), NOBODY, NOBODY)


def test_verification_notices_a_missing_required_device():
    (problem,) = band_problems(1, 3, 3, 8, 0)
    schedule = solve(problem, "dual_pursuit")
    absent = np.setdiff1d(np.arange(8), schedule.active)[:1]
    with pytest.raises(VerificationError, match="required"):
        verify(replace(problem, required=absent), schedule)
