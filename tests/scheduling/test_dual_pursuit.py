"""Dual pursuit: what must hold on every instance, and quality on fixed ones."""

from dataclasses import replace

import numpy as np
import pytest

from app.scheduling import pursuit as module
from app.scheduling.kernels.dual.search import dual_pursuit
from app.scheduling.kernels.dual.soft import climbing, soft_share
from app.scheduling.kernels.dual.starts import effort
from app.scheduling.problem import Problem
from app.scheduling.scheduler import Context, InvalidParameterError
from app.scheduling.schedulers.dual_pursuit import DualPursuitParameters, select
from app.scheduling.solver import solve
from lab.channels import iid_channels


def random_problem(rng, antennas, devices, gamma, **options):
    weights = rng.uniform(0.5, 1.5, devices)
    return Problem(iid_channels(rng, antennas, devices), weights, gamma, **options)


@pytest.mark.parametrize("devices", [1, 2, 7, 40])
@pytest.mark.parametrize("antennas", [1, 2, 5, 16])
@pytest.mark.parametrize("csi_error", [0.0, 0.1])
def test_schedules_verify(antennas, devices, csi_error):
    rng = np.random.default_rng([antennas, devices])
    for gamma in (0.1, 0.5, 2.0, 20.0):
        problem = random_problem(rng, antennas, devices, gamma, csi_error=csi_error)
        schedule = solve(problem, "dual_pursuit")
        alone = (np.abs(problem.channels) ** 2).sum(0) >= problem.required_gains
        assert (schedule.active.size > 0) == alone.any()
        assert alone[schedule.active].all()
        if schedule.receiver is not None:
            served = np.flatnonzero(problem.served(schedule.receiver))
            assert np.isin(schedule.active, served).all()
            # The errors of estimates add up: not everyone who could be served fits in.
            assert csi_error > 0 or schedule.active.size == served.size


def test_zero_columns_and_zero_channels():
    channels = np.zeros((3, 4), np.complex128)
    assert solve(Problem(channels, np.ones(4), 1.0), "dual_pursuit").active.size == 0
    channels[:, 2] = 1
    assert solve(Problem(channels, np.ones(4), 1.0), "dual_pursuit").active.tolist() == [2]


def test_one_antenna_serves_everyone_who_is_strong_enough():
    channels = np.array([[1, 2j, -0.5, 3 + 1j, 0]])
    schedule = solve(Problem(channels, np.ones(5), 1.0), "dual_pursuit")
    assert schedule.active.tolist() == [0, 1, 3]


def test_rank_one_channels():
    rng = np.random.default_rng(5)
    gains = rng.uniform(0.1, 2, 9) * np.exp(2j * np.pi * rng.uniform(size=9))
    direction = np.array([1, 1j, -1, 2]) / np.sqrt(7)
    schedule = solve(Problem(np.outer(direction, gains), np.ones(9), 1.0), "dual_pursuit")
    assert schedule.active.tolist() == np.flatnonzero(np.abs(gains) >= 1).tolist()


def test_orthogonal_channels_share_the_receiver():
    # |S| orthonormal channels get at most 1/|S| of a unit receiver's energy each.
    schedule = solve(Problem(3 * np.eye(12), np.ones(12), 0.5), "dual_pursuit")
    assert schedule.active.size == 4
    assert schedule.power_factor == pytest.approx(9 / 4, rel=1e-3)


@pytest.mark.parametrize("scale", [1e-14, 1e14])
def test_extreme_scales(scale):
    rng = np.random.default_rng(6)
    problem = random_problem(rng, 4, 10, 1.0)
    scaled = Problem(problem.channels * scale, problem.weights * scale, 1.0)
    np.testing.assert_array_equal(
        solve(scaled, "dual_pursuit").active, solve(problem, "dual_pursuit").active
    )


def test_same_seed_same_schedule():
    problem = random_problem(np.random.default_rng(7), 6, 20, 0.6)
    for seed in (0, 1, -3, 2**70):
        first, second = (solve(problem, "dual_pursuit", seed=seed) for _ in range(2))
        np.testing.assert_array_equal(first.receiver, second.receiver)
        np.testing.assert_array_equal(first.active, second.active)


def test_more_starts_serve_more_on_average():
    rng = np.random.default_rng(8)
    problems = [random_problem(rng, 6, 20, 0.5) for _ in range(40)]
    one, default, pursuit = (
        np.mean([solve(p, name, parameters).active.size for p in problems])
        for name, parameters in (
            ("dual_pursuit", DualPursuitParameters(1)),
            ("dual_pursuit", DualPursuitParameters()),
            ("matching_pursuit", None),
        )
    )
    assert pursuit < one <= default


def test_reaches_what_many_starts_reach():
    rng = np.random.default_rng(9)
    problems = [random_problem(rng, 3, 8, 1.0) for _ in range(60)]
    many = DualPursuitParameters(500)
    same = [
        solve(p, "dual_pursuit").active.size == solve(p, "dual_pursuit", many).active.size
        for p in problems
    ]
    assert np.mean(same) >= 0.95


def test_many_devices():
    problem = random_problem(np.random.default_rng(10), 16, 600, 1.0)
    schedule = solve(problem, "dual_pursuit")
    assert schedule.active.size >= solve(problem).active.size


def test_warm_start_is_used():
    problem = random_problem(np.random.default_rng(11), 6, 20, 0.6)
    last = solve(problem, "dual_pursuit", DualPursuitParameters(50))
    again = solve(problem, "dual_pursuit", DualPursuitParameters(1), warm_start=last.receiver)
    assert again.active.size >= last.active.size - 1
    nowhere = np.zeros(6, np.complex128)
    assert solve(problem, "dual_pursuit", warm_start=nowhere).feasible


def test_deadline_after_the_first_set(monkeypatch):
    """It answers with the best so far, and says that there may be better."""
    problem = random_problem(np.random.default_rng(12), 6, 20, 0.6)
    stop = np.zeros(1, np.bool_)

    def interrupted(*arguments):
        found = dual_pursuit(*arguments)
        stop[0] = True
        return found

    monkeypatch.setattr(module, "dual_pursuit", interrupted)
    schedule = solve(problem, "dual_pursuit", stop=stop)
    assert schedule.stopped == "deadline"
    assert schedule.active.size
    monkeypatch.undo()
    assert solve(problem, "dual_pursuit").stopped == "converged"


def test_no_deadline_where_nobody_can_be_served():
    context = Context(stop=np.zeros(1, np.bool_))
    selection = select(Problem(np.zeros((2, 3)), np.ones(3), 1.0), DualPursuitParameters(), context)
    assert selection.stopped == "converged"


def test_starts_are_bounded():
    with pytest.raises(InvalidParameterError):
        DualPursuitParameters(0)


@pytest.mark.parametrize("prioritised", [False, True])
def test_never_serves_less_than_the_warm_start(prioritised):
    rng = np.random.default_rng(89)
    for case in range(60):
        devices = int(rng.integers(1, 120))
        priorities = rng.uniform(0.1, 1.0, devices) if prioritised else None
        channels = iid_channels(rng, int(rng.integers(1, 9)), devices)
        problem = Problem(channels, np.ones(devices), 10 ** rng.uniform(-1, 1))
        problem = replace(problem, priorities=priorities)
        start = iid_channels(rng, problem.antennas, 1)[:, 0]
        if case % 2:
            start = solve(problem, "dual_pursuit", DualPursuitParameters(50)).receiver
        if start is None:
            continue
        given = problem.worth(problem.served(start / np.linalg.norm(start)))
        parameters = DualPursuitParameters(1)
        found = solve(problem, "dual_pursuit", parameters, seed=case, warm_start=start)
        assert problem.worth(found.active) >= given * (1 - 1e-12)


def test_the_effort_has_no_jumps():
    """One device more changes the work of climbs and plain starts by little."""
    last = None
    for devices in range(10, 1200):
        climbs, steps = climbing(5, devices)
        plain, _ = effort(5, devices)
        work = climbs * steps * devices + 1000 * int((1 - soft_share(devices)) * plain + 0.5)
        if last is not None:
            assert abs(work - last) <= 0.15 * max(work, last), devices
        last = work
