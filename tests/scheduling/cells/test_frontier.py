"""Frontiers of cells: with required and previous devices, every point has what it must."""

from itertools import combinations

import numpy as np
import pytest

from app.scheduling import SCHEDULERS, Problem, SolveSpec, find_frontier, solve
from app.scheduling.cells.cell import state
from app.scheduling.schedulers.dual_pursuit import DualPursuitParameters
from lab.channels import iid_channels
from tests.scheduling.cells.test_cells import least_error, stated

LARGE = 1e6


def points_of(cell, seed=0, **options):
    spec = SolveSpec(SCHEDULERS["dual_pursuit"], DualPursuitParameters(), seed=seed)
    return find_frontier(cell, spec, **options).points


@pytest.mark.parametrize("seed", range(4))
def test_least_errors_of_sets_with_the_required_devices(seed):
    """Against a general solver for every set that holds them, in a cell as stated."""
    problem, power, noise = stated(seed, antennas=2, devices=5, gamma=LARGE)
    required, excluded = np.array([0, 3]), np.array([1])
    cell = state(problem, power=power, noise_covariance=noise, required=required, excluded=excluded)
    rng = np.random.default_rng(seed)
    points = points_of(cell, seed)
    assert points
    errors = {point.schedule.active.size: point.error for point in points}
    for size in (2, 3, 4):
        least = min(
            least_error(problem, power, noise, [0, 3, *others], rng)
            for others in combinations([2, 4], size - 2)
        )
        # A point with more devices may need no more error.
        found = min(error for devices, error in errors.items() if devices >= size)
        assert found == pytest.approx(least, rel=2e-3)


@pytest.mark.parametrize("coordination", ["zero_forcing", "mmse"])
def test_every_point_has_the_required_devices(coordination):
    for seed in range(6):
        rng = np.random.default_rng(300 + seed)
        problem = Problem(iid_channels(rng, 4, 16), np.ones(16), gamma=LARGE)
        required = np.sort(rng.choice(16, size=3, replace=False))
        spec = SolveSpec(
            SCHEDULERS["dual_pursuit"], DualPursuitParameters(), coordination=coordination
        )
        points = find_frontier(state(problem, required=required), spec).points
        assert len(points) > 5
        assert points[-1].schedule.active.size == 16
        for point in points:
            assert np.isin(required, point.schedule.active).all()
        sizes = [point.schedule.active.size for point in points]
        errors = [point.error for point in points]
        assert sizes == sorted(set(sizes))
        assert errors == sorted(errors)


def test_as_many_devices_as_a_search_for_each_tolerance_finds():
    """Just above a point's own tolerance, dual pursuit with the required devices finds few more."""
    more = total = 0
    for seed in range(8):
        rng = np.random.default_rng(320 + seed)
        problem = Problem(iid_channels(rng, 4, 16), np.ones(16), gamma=LARGE)
        required = np.sort(rng.choice(16, size=2, replace=False))
        for point in points_of(state(problem, required=required), seed):
            own = state(problem.with_gamma(point.gamma * 1.001), required=required)
            found = solve(own, "dual_pursuit", seed=seed)
            assert found.feasible
            more += found.active.size - point.schedule.active.size
            total += point.schedule.active.size
    assert more <= 0.005 * total


def test_required_devices_that_cannot_be_served_within_the_largest_error():
    problem = Problem(np.eye(2), np.ones(2), gamma=1.5)
    assert points_of(state(problem, required=np.array([0, 1]))) == ()
    (point,) = points_of(state(problem, required=np.array([1])))
    assert point.schedule.active.tolist() == [1]


def test_everyone_required_is_one_point():
    problem = Problem(np.eye(2), np.ones(2), gamma=LARGE)
    (point,) = points_of(state(problem, required=np.array([0, 1])))
    assert point.schedule.active.tolist() == [0, 1]
    assert point.error == pytest.approx(2.0, rel=1e-3)


def test_previous_devices_count_a_little_more():
    """No point without `previous` is better in number, overlap and error than all with it."""
    kept = 0
    for seed in range(6):
        rng = np.random.default_rng(340 + seed)
        problem = Problem(iid_channels(rng, 4, 12), np.ones(12), gamma=LARGE)
        previous = np.sort(rng.choice(12, size=5, replace=False))
        free, sticky = points_of(problem, seed), points_of(state(problem, previous=previous), seed)

        def ranked(point, previous=previous):
            active = point.schedule.active
            return active.size + np.intersect1d(active, previous).size / 24

        values, errors = [ranked(p) for p in sticky], [p.error for p in sticky]
        assert values == sorted(set(values))
        assert errors == sorted(set(errors))
        for point in free:
            assert any(
                value >= ranked(point) and error <= point.error * (1 + 1e-9)
                for value, error in zip(values, errors, strict=True)
            )
        kept += len(sticky) - len(free)
    assert kept > 0


def test_priorities_and_required_devices_together():
    rng = np.random.default_rng(360)
    priorities = 10 ** rng.uniform(-1, 1, 12)
    problem = Problem(iid_channels(rng, 4, 12), np.ones(12), LARGE, priorities=priorities)
    required = np.array([int(np.argmin(priorities))])
    points = points_of(state(problem, required=required))
    worths = [priorities[point.schedule.active].sum() for point in points]
    assert len(points) > 5
    assert worths == sorted(worths)
    assert all(required[0] in point.schedule.active for point in points)
