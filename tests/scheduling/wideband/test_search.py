"""The kernels of the wideband search, against the plain ones and exhaustive search."""

import numpy as np
import pytest

from app.scheduling import Context, Problem, solve
from app.scheduling.kernels.dual.descent import descend as plain_descend
from app.scheduling.kernels.dual.starts import search_space
from app.scheduling.kernels.dual.starts import start_with_everyone as plain_start
from app.scheduling.kernels.matching.algorithm_1 import backward_pursuit
from app.scheduling.kernels.wideband.band import new_band
from app.scheduling.kernels.wideband.descent import descend
from app.scheduling.kernels.wideband.matching import wideband_matching
from app.scheduling.kernels.wideband.search import start_with_everyone, wideband_pursuit
from app.scheduling.wideband.polishing import polish
from app.scheduling.wideband.problem import WidebandProblem
from app.scheduling.wideband.schedulers import dual_pursuit, intersection, matching_pursuit
from lab.oracles.wideband_optimum import least_cost, optimum
from lab.problems import band_problems, iid_problems, random_wideband_problem

NEVER = np.zeros(1, bool)


def searched(problem, starts=3, given=None):
    return wideband_pursuit(
        problem.channels,
        np.sqrt(problem.required_gains),
        problem.values,
        problem.each,
        np.zeros((0, 0), complex) if given is None else given,
        starts,
        np.uint64(1),
        NEVER,
    )


@pytest.mark.parametrize("each", [False, True])
def test_descents_on_one_subcarrier_are_the_plain_ones(each):
    rng = np.random.default_rng(3)
    for plain in iid_problems(10, 6, 20, -2, seed=4):
        needed, values = np.sqrt(plain.required_gains), rng.uniform(0.5, 1, 20)
        state, _ = search_space(plain.channels, needed, values)
        band, _ = new_band(plain.channels[None], needed, values, each)
        for start in range(3):
            random, same = np.array([start], np.uint64), np.array([start], np.uint64)
            goal = 0.0
            # The second descent is near its goal, where every set gets more rounds.
            for _ in range(2):
                count = plain_start(state, random, start, np.zeros(0, complex))
                worth, served, rounds = plain_descend(state, count, goal, NEVER)
                count = start_with_everyone(band, same, start, np.zeros((0, 0), complex))
                found = descend(band, count, goal, same, NEVER)
                assert found == (pytest.approx(worth), served, rounds)
                receiver = state.receiver / np.linalg.norm(state.receiver)
                if served:
                    members = np.sort(band.members[:served])
                    np.testing.assert_array_equal(members, np.flatnonzero(plain.served(receiver)))
                goal = worth - 0.1


def test_matching_on_one_subcarrier_is_algorithm_1():
    rng = np.random.default_rng(5)
    for plain in iid_problems(20, 4, 12, 0, seed=6):
        values = rng.uniform(0.5, 1, 12)
        args = (plain.required_gains, values, 0.6)
        _, expected, iterations = backward_pursuit(plain.channels, *args, False, NEVER)
        for each in (False, True):
            _, active, other = wideband_matching(plain.channels[None], *args, each, NEVER)
            np.testing.assert_array_equal(active, expected)
            assert other == iterations


def plain_matching(problem, delta):
    """Algorithm 1 over a band, with full decompositions, from its description."""
    channels, required = problem.channels, problem.required_gains
    remaining, weights = np.ones(problem.devices, bool), np.ones(problem.devices)
    while remaining.any():
        gains = np.empty((problem.subcarriers, problem.devices))
        for f, matrix in enumerate(channels):
            c = np.linalg.svd(matrix * np.sqrt(weights))[0][:, 0]
            gains[f] = np.abs(matrix.conj().T @ c) ** 2
        worst = (required / gains)[:, remaining].max(axis=1)
        if (worst.max() if problem.each else worst.mean()) <= 1 + 1e-9:
            break
        missing = required - gains
        violation = missing.max(axis=0) if problem.each else np.maximum(0, missing).mean(axis=0)
        remaining[np.argmax(np.where(remaining, violation, -np.inf))] = False
        weights = np.where(violation > 0, delta, 1 - delta) * remaining
    return remaining


@pytest.mark.parametrize("criterion", ["mean", "each"])
def test_matching_follows_its_description(criterion):
    sizes = set()
    for problem in band_problems(20, 3, 4, 10, 5, seed=7, taps=2, criterion=criterion):
        parameters = matching_pursuit.WidebandMatchingPursuitParameters(delta=0.4)
        active = matching_pursuit.select(problem, parameters, Context()).active
        np.testing.assert_array_equal(active, plain_matching(problem, 0.4))
        sizes.add(int(active.sum()))
    assert len(sizes) > 2


@pytest.mark.parametrize("criterion", ["mean", "each"])
@pytest.mark.parametrize("gamma_db", [-1, 2])
def test_nearly_all_of_the_optimum(criterion, gamma_db):
    found = possible = 0
    for problem in band_problems(12, 4, 3, 8, gamma_db, seed=8, criterion=criterion):
        parameters = dual_pursuit.WidebandDualPursuitParameters()
        selection = dual_pursuit.select(problem, parameters, Context())
        costs = problem.costs(selection.receiver)[:, selection.active].max(axis=1, initial=0)
        assert problem.keeps(costs)
        most = optimum(problem)
        assert selection.active.sum() <= most
        found += selection.active.sum()
        possible += most
    assert found >= 0.97 * possible


@pytest.mark.parametrize(("taps", "gamma_db"), [(1, 0), (6, 6)])
@pytest.mark.parametrize("criterion", ["mean", "each"])
def test_never_fewer_than_the_intersection(criterion, taps, gamma_db):
    """Flat bands, and selective ones where nearly everyone is served."""
    common = 0
    for problem in band_problems(15, 6, 5, 15, gamma_db, seed=9, taps=taps, criterion=criterion):
        least = intersection.select(problem, intersection.DualPursuitParameters(), Context())
        parameters = dual_pursuit.WidebandDualPursuitParameters(starts=1)
        most = dual_pursuit.select(problem, parameters, Context())
        assert most.active.sum() >= least.active.sum()
        common += least.active.sum()
    assert common > 100


@pytest.mark.parametrize("criterion", ["mean", "each"])
@pytest.mark.parametrize(("devices", "gamma_db"), [(20, -2), (40, 0)])
def test_a_flat_band_has_no_fewer_devices_than_one_subcarrier(criterion, devices, gamma_db):
    """The plain search, also with soft starts, is never ahead where all subcarriers are alike."""
    for problem in band_problems(6, 3, 6, devices, gamma_db, seed=15, taps=1, criterion=criterion):
        plain = solve(Problem(problem.channels[0], np.ones(devices), problem.gamma), "dual_pursuit")
        assert solve(problem, "dual_pursuit").active.size >= plain.active.size


def test_the_intersection_is_what_every_subcarrier_serves():
    for problem in band_problems(5, 4, 5, 15, 1, seed=10):
        selection = intersection.select(problem, intersection.DualPursuitParameters(), Context())
        served = [
            problem.subcarrier(f).served(receiver / np.linalg.norm(receiver))
            for f, receiver in enumerate(selection.receiver)
        ]
        np.testing.assert_array_equal(selection.active, np.all(served, axis=0))


@pytest.mark.parametrize("criterion", ["mean", "each"])
def test_never_fewer_than_the_last_receivers_serve(criterion):
    once = dual_pursuit.WidebandDualPursuitParameters(starts=1)
    for problem in band_problems(15, 4, 5, 15, -1, seed=11, criterion=criterion):
        receivers, active, _ = searched(problem, starts=20)
        again = dual_pursuit.select(problem, once, Context(seed=3, warm_start=receivers))
        assert again.active.sum() >= active.sum()


def test_devices_with_priority_come_first():
    rng = np.random.default_rng(12)
    for problem in band_problems(10, 4, 5, 15, -2, seed=13):
        values = 10.0 ** rng.integers(0, 3, 15)
        preferring = WidebandProblem(
            problem.channels, np.ones(15), problem.gamma, priorities=values
        )
        assert values[searched(preferring)[1]].sum() >= values[searched(problem)[1]].sum()


def test_polished_receivers_have_the_least_error_of_their_set():
    rng = np.random.default_rng(14)
    polished = 0
    for _ in range(30):
        problem = random_wideband_problem(rng, max_devices=8)
        receivers, active, _ = searched(problem)
        before = problem.costs(receivers)[:, active].max(axis=1, initial=0)
        if not active.any():
            continue
        polished += 1
        receivers, joined = polish(problem, receivers, active)
        assert (joined >= active).all()
        after = problem.costs(receivers)[:, joined].max(axis=1)
        assert problem.keeps(after)
        if (joined == active).all():
            assert (after <= before * (1 + 1e-9)).all()
        mixtures = rng.standard_normal((60, joined.sum())) + 0j
        for f in range(problem.subcarriers):
            scaled = problem.channels[f] / np.sqrt(problem.required_gains)
            least = least_cost(np.ascontiguousarray(scaled.T[joined]), mixtures)
            # Polishing ends in a local optimum: near the best of many starts, seldom far off.
            assert after[f] >= least * (1 - 1e-6)
            polished += after[f] <= least * 1.01
    assert polished > 60


def test_stops_at_once():
    (problem,) = band_problems(1, 4, 5, 15, 0)
    receivers, active, rounds = wideband_pursuit(
        problem.channels,
        np.sqrt(problem.required_gains),
        problem.values,
        False,
        np.zeros((0, 0), complex),
        3,
        np.uint64(0),
        np.ones(1, bool),
    )
    assert not active.any()
    assert rounds == 0
    assert np.isfinite(receivers).all()
