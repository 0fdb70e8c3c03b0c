"""The rivals: against exhaustive search, a general solver, and what their papers promise."""

from itertools import chain, combinations, pairwise

import cvxpy as cp
import numpy as np
import pytest

from app.scheduling import SCHEDULERS, Problem, SolveSpec, find_frontier, solve
from lab.channels import iid_channels
from lab.problems import iid_problems
from lab.rivals import gsds, kim, ris_fl
from lab.rivals.learning_cost import best_of_frontier, cost, error_of
from lab.rivals.multicast import least_norm


@pytest.fixture
def rng():
    return np.random.default_rng(31)


def test_the_exact_majorant_is_that_of_a_general_solver(rng):
    for _ in range(3):
        scaled, radius = iid_channels(rng, 4, 12), rng.uniform(0.5, 1.5)
        last = iid_channels(rng, 4, 1)[:, 0]
        last *= radius / np.linalg.norm(last)
        gains = scaled.conj().T @ last
        point = cp.Variable(4, complex=True)
        tangents = cp.real(cp.multiply(gains.conj(), scaled.conj().T @ point))
        majorant = cp.sum(cp.pos(1 + np.abs(gains) ** 2 - 2 * tangents))
        least = cp.Problem(cp.Minimize(majorant), [cp.norm(point) <= radius]).solve()
        ours = kim.minimise_majorant(scaled, last, radius)
        point.value = ours
        assert np.linalg.norm(ours) <= radius * (1 + 1e-9)
        assert majorant.value == pytest.approx(least, rel=1e-3, abs=1e-6)


def test_majorisation_never_raises_what_it_minimises(rng):
    for problem in iid_problems(5, 6, 30, 2.0, seed=7):
        radius = np.sqrt(problem.gamma)
        start = radius * np.linalg.svd(problem.channels)[0][:, 0]
        points = kim.descend(problem.channels, start, radius)
        values = [kim.violation(problem.channels, point) for point in points]
        assert len(values) > 2
        assert all(after <= before for before, after in pairwise(values))
        assert values[-1] < values[0]


@pytest.mark.parametrize("inner", ["subgradient", "exact"])
def test_kim_serves_no_more_than_the_most_and_usually_close_to_it(inner):
    shares = []
    for problem in iid_problems(20, 3, 10, 0.0, seed=3):
        most = solve(problem, "optimal").active.size
        found = kim.served(problem, inner)
        assert 0 < found <= most
        shares.append(found / most)
    assert np.mean(shares) > 0.85


def test_kim_has_the_level_that_an_independent_run_had():
    """38.7 and 38.9 of 60 devices at 0 dB on 100 channels, with a standard error near 0.3."""
    problems = iid_problems(25, 6, 60, 0.0, seed=11)
    for inner, level in (("subgradient", 38.7), ("exact", 38.9)):
        counts = [kim.served(problem, inner) for problem in problems]
        error = np.std(counts, ddof=1) / 5
        assert np.mean(counts) == pytest.approx(level, abs=4 * np.hypot(error, 0.3))


def test_the_least_norm_receiver_reaches_the_bound_of_two_devices(rng):
    """Two unit channels at an angle: the receiver between them has the norm 1/cos of half of it."""
    for _ in range(5):
        pair = iid_channels(rng, 4, 2)
        pair /= np.linalg.norm(pair, axis=0)
        receiver = least_norm(pair, np.ones(2), pair[:, 0] + 0.1 * pair[:, 1])
        overlap = abs(np.vdot(pair[:, 0], pair[:, 1]))
        assert np.abs(pair.conj().T @ receiver).min() == pytest.approx(1.0)
        assert np.linalg.norm(receiver) == pytest.approx(np.sqrt(2 / (1 + overlap)), rel=1e-3)


def test_gsds_is_no_better_than_every_set_tried(rng):
    """All 127 sets of seven devices, each with receivers from several starts."""
    for _ in range(3):
        channels = iid_channels(rng, 4, 7) * 10 ** rng.uniform(-1.5, 0, 7)
        weights = 10 ** rng.uniform(-0.5, 0.5, 7)
        found = gsds.select(channels, weights)
        own = error_of(channels, weights, found.active, found.receiver)
        assert found.cost == pytest.approx(cost(weights, found.active, own))
        least = np.inf
        for each in chain.from_iterable(combinations(range(7), size) for size in range(1, 8)):
            active = np.array(each)
            for start in (*channels[:, active].T, found.receiver):
                if np.abs(channels[:, active].conj().T @ start).min() > 1e-9:
                    receiver = least_norm(channels[:, active], weights[active], start)
                    error = error_of(channels, weights, active, receiver)
                    least = min(least, cost(weights, active, error))
        assert least * (1 - 1e-6) <= found.cost <= 1.5 * least
        scheduler = SCHEDULERS["dual_pursuit"]
        frontier = find_frontier(
            Problem(channels, weights, 1e9), SolveSpec(scheduler, scheduler.parameters())
        )
        assert best_of_frontier(frontier, weights) >= least * (1 - 1e-3)


def test_gsds_starts_from_the_strongest_and_takes_everybody_in(rng):
    channels, weights = gsds.drop(rng, 0.0, uneven=True)
    order = gsds.order(channels, weights)
    assert order[0] == np.argmax(np.linalg.norm(channels / weights, axis=0))
    assert sorted(order) == list(range(10))
    assert weights.mean() == pytest.approx(1.0)


def test_the_dual_of_the_inner_problem_is_solved(rng):
    """Against a general solver: the dual is convex in the weights."""
    a, b = iid_channels(rng, 6, 3), iid_channels(rng, 6, 5)
    c = rng.standard_normal(6)
    weights = cp.Variable(6, nonneg=True)
    value = 2 * cp.norm(a.T @ weights) + 2 * cp.norm1(b.T @ weights) - c @ weights
    least = cp.Problem(cp.Minimize(value), [cp.sum(weights) == 1]).solve()
    weights.value = ris_fl.least_dual(a, b, c)
    assert weights.value.sum() == pytest.approx(1.0)
    assert value.value == pytest.approx(least, rel=5e-3)


def test_tuning_raises_the_weakest_gain_and_reports_it(rng):
    problem = ris_fl.drop(rng)
    direct = np.ascontiguousarray(problem.direct.T[:8])
    cascade = np.ascontiguousarray(
        problem.irs_to_server[None] * problem.devices_to_irs.T[:8, None, :]
    )
    squares = problem.weights[:8] ** 2
    phases = np.ones(ris_fl.ELEMENTS, complex)
    start = direct[0] + cascade[0] @ phases
    start /= np.linalg.norm(start)

    def least(receiver, phases):
        tuned = direct + cascade @ phases
        return np.min(np.abs(tuned.conj() @ receiver) ** 2 / squares)

    receiver, tuned, value = ris_fl.tune(direct, cascade, squares, start, phases, 1e-3)
    assert np.abs(tuned) == pytest.approx(np.ones(ris_fl.ELEMENTS))
    assert np.linalg.norm(receiver) == pytest.approx(1.0)
    assert value == pytest.approx(least(receiver, tuned))
    assert value > 2 * least(start, phases)


def test_sampling_finds_a_better_set_than_everybody(rng):
    problem = ris_fl.drop(rng)
    everybody = ris_fl.select(problem, rng, samples=0)
    sampled = ris_fl.select(problem, rng, samples=5)
    assert everybody.active.all()
    assert sampled.cost <= everybody.cost
    tuned = problem.direct + problem.irs_to_server @ (
        sampled.phases[:, None] * problem.devices_to_irs
    )
    active = np.flatnonzero(sampled.active)
    error = error_of(tuned, problem.weights, active, sampled.receiver) * problem.noise_variance
    assert sampled.cost == pytest.approx(cost(problem.weights, active, error, 1.0))
