"""Dual pursuit with a surface: never fewer than the others, and the optimum where that is known."""

import itertools

import numpy as np
import pytest

from app.scheduling import IRS_SCHEDULERS, IrsProblem, solve
from app.scheduling.irs import joint_search
from app.scheduling.irs.schedulers.dual_pursuit import IrsDualPursuitParameters
from app.scheduling.kernels.surface.dual_search import joint_dual_pursuit
from lab.channels import iid_channels
from lab.problems import random_irs_problem
from tests.scheduling.irs.problems import surface_problem


def test_never_fewer_than_algorithm_2_or_than_without_tuning_on_any_instance():
    rng = np.random.default_rng(100)
    more_than_both = 0
    for seed in range(60):
        problem = random_irs_problem(rng)
        dual = solve(problem, "dual_pursuit", seed=seed).active.size
        pursuit = max(
            solve(problem, "matching_pursuit", parameters).active.size
            for parameters in IRS_SCHEDULERS["matching_pursuit"].variants()
        )
        untuned = solve(problem.tuned(problem.start()), "dual_pursuit", seed=seed).active.size
        assert dual >= max(pursuit, untuned)
        more_than_both += dual > max(pursuit, untuned)
    assert more_than_both > 10


@pytest.mark.parametrize("gamma_db", [-15, -12, -9, -6])
def test_more_than_algorithm_2_at_every_tolerance(gamma_db):
    """K = 20, N = 6, M = 32: the naive alternation loses against Algorithm 2 at -9 dB."""
    rng = np.random.default_rng(101)
    dual = pursuit = 0
    for _ in range(8):
        problem = surface_problem(rng, gamma_db, 32, 6, 20)
        dual += solve(problem, "dual_pursuit").active.size
        pursuit += solve(problem, "matching_pursuit").active.size
    assert dual > pursuit


def test_close_to_the_optimum_over_receivers_and_phases():
    """N = 2 and M = 1 with one bit: every receiver of a fine grid, with every phase."""
    tilt, turn = np.meshgrid(
        np.linspace(0, np.pi / 2, 120), np.linspace(0, 2 * np.pi, 240), indexing="ij"
    )
    receivers = np.stack([np.cos(tilt), np.sin(tilt) * np.exp(1j * turn)], -1).reshape(-1, 2)
    rng = np.random.default_rng(102)
    equal = 0
    for seed in range(25):
        problem = random_irs_problem(
            rng,
            direct=iid_channels(rng, 2, 8),
            irs_to_server=iid_channels(rng, 2, 2),
            devices_to_irs=iid_channels(rng, 2, 8),
            weights=np.ones(8),
            gamma=10 ** rng.uniform(-0.5, 0.5),
            phase_bits=1,
        )
        best = 0
        for phases in itertools.product((1, -1), repeat=2):
            channels = problem.tuned(np.array(phases, complex)).channels
            gains = np.abs(receivers.conj() @ channels) ** 2
            best = max(best, int((gains * problem.gamma >= 1).sum(axis=1).max()))
        parameters = IrsDualPursuitParameters(6)
        found = solve(problem, "dual_pursuit", parameters, seed=seed).active.size
        assert found >= best - 1
        equal += found >= best
    assert equal >= 22


def test_more_starts_never_find_fewer():
    rng = np.random.default_rng(103)
    for _ in range(10):
        problem = random_irs_problem(rng)
        few = solve(problem, "dual_pursuit", IrsDualPursuitParameters(2)).active.size
        many = solve(problem, "dual_pursuit", IrsDualPursuitParameters(6)).active.size
        assert many >= few


def test_finer_phases_schedule_more_on_average():
    rng = np.random.default_rng(104)
    totals = dict.fromkeys([1, 2, 3, None], 0)
    for _ in range(12):
        channels = (
            iid_channels(rng, 4, 12),
            iid_channels(rng, 4, 16),
            iid_channels(rng, 16, 12) / 4,
        )
        for bits in totals:
            problem = IrsProblem(*channels, np.ones(12), 10**-0.9, phase_bits=bits)
            totals[bits] += solve(problem, "dual_pursuit").active.size
    assert totals[1] < totals[2] < totals[3] <= totals[None]


def test_at_the_deadline_it_answers_with_what_it_has(monkeypatch):
    rng = np.random.default_rng(106)
    problem = random_irs_problem(
        rng,
        direct=iid_channels(rng, 4, 10),
        weights=np.ones(10),
        gamma=0.03,
        irs_to_server=iid_channels(rng, 4, 6),
        devices_to_irs=iid_channels(rng, 6, 10),
    )
    unhurried = solve(problem, "dual_pursuit")
    stop = np.zeros(1, np.bool_)
    calls = 0

    def passing_deadline(*arguments):
        nonlocal calls
        calls += 1
        stop[0] = calls >= 2
        return joint_dual_pursuit(*arguments)

    monkeypatch.setattr(joint_search, "joint_dual_pursuit", passing_deadline)
    hurried = solve(problem, "dual_pursuit", stop=stop)
    assert hurried.stopped == "deadline"
    assert 0 < hurried.active.size <= unhurried.active.size
    assert hurried.iterations < unhurried.iterations
    assert unhurried.stopped == "converged"
