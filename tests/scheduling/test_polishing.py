"""Polishing against the formulas, a convex solver's conditions, and a grid."""

import numpy as np
import pytest
from scipy.optimize import nnls

from app.scheduling import polishing, solve
from app.scheduling.kernels.dual import level
from app.scheduling.kernels.dual.least_norm import minimise_norm
from app.scheduling.kernels.dual.sweeps import sweep
from app.scheduling.polishing import polish
from app.scheduling.problem import Problem
from app.scheduling.scheduler import Context
from app.scheduling.schedulers.matching_pursuit import MatchingPursuitParameters, select
from lab.channels import iid_channels


def level_of(problem, receiver, active):
    receiver = receiver / np.linalg.norm(receiver)
    return (np.abs(receiver.conj() @ problem.channels) / problem.weights)[active].min()


@pytest.mark.parametrize(("antennas", "devices"), [(1, 1), (1, 4), (3, 2), (3, 8), (6, 20)])
def test_sweeps_solve_the_convex_problem(antennas, devices):
    rng = np.random.default_rng(antennas * 100 + devices)
    channels = iid_channels(rng, antennas, devices)
    receiver = iid_channels(rng, antennas, 1)[:, 0]
    turned = channels * np.exp(1j * np.angle(channels.conj().T @ receiver))
    rows = np.ascontiguousarray(turned.T)
    sizes = (np.abs(rows) ** 2).sum(1)
    multipliers, found = np.zeros(devices), np.zeros(antennas, np.complex128)
    parts, found_parts = rows.view(float), found.view(float)
    for _ in range(20_000):
        sweep(parts, sizes, multipliers, np.arange(devices), devices, found_parts)
    margins = (rows.conj() @ found).real - 1
    assert margins.min() >= -1e-6
    assert multipliers.min() >= 0
    assert np.abs(multipliers * margins).max() <= 1e-6
    np.testing.assert_allclose(multipliers @ rows, found, atol=1e-9)
    gap = np.vdot(found, found).real - multipliers.sum()
    assert abs(gap) <= 1e-5 * multipliers.sum()
    # min ‖c‖, Bc ≥ 1 from nonnegative least squares (Lawson and Hanson's reduction).
    real_rows = np.hstack([rows.real, rows.imag])
    system = np.vstack([real_rows.T, np.ones(devices)])
    target = np.append(np.zeros(2 * antennas), 1.0)
    residual = system @ nnls(system, target)[0] - target
    exact = -residual[:-1] / residual[-1]
    assert np.linalg.norm(found) == pytest.approx(np.linalg.norm(exact), rel=1e-5)


# The third is another scale for every device: without its own floor, one of them would be lost.
@pytest.mark.parametrize("csi_error", [0.0, 0.1, np.linspace(0, 0.8, 12)], ids=["0", "0.1", "each"])
def test_polishing_never_worsens(csi_error):
    rng = np.random.default_rng(2)
    for _ in range(40):
        weights = rng.uniform(0.5, 1.5, 12)
        problem = Problem(iid_channels(rng, 4, 12), weights, 2.0, csi_error=csi_error)
        selection = select(problem, MatchingPursuitParameters(), Context())
        if not selection.active.any():
            continue
        receiver, active = polish(problem, selection.receiver, selection.active)
        assert np.linalg.norm(receiver) == pytest.approx(1)
        assert active[selection.active].all()
        assert problem.served(receiver)[active].all()
        if (active == selection.active).all():
            before = level_of(problem, selection.receiver, active)
            assert level_of(problem, receiver, active) >= before * (1 - 1e-12)


def test_devices_beyond_the_tolerance_stay():
    rng = np.random.default_rng(3)
    problem = Problem(iid_channels(rng, 3, 8), np.ones(8), 0.01)
    start = np.ones(3, np.complex128)
    receiver, active = polish(problem, start, np.ones(8, np.bool_))
    assert active.all()
    assert level_of(problem, receiver, active) >= level_of(problem, start, active)


def test_who_is_served_stays_so_beside_devices_beyond_the_tolerance():
    """The least level is then that of a device that nobody serves, which may cost no other."""
    rng = np.random.default_rng(7)
    for _ in range(40):
        problem = Problem(iid_channels(rng, 3, 8), rng.uniform(0.5, 1.5, 8), 1.0)
        start = iid_channels(rng, 3, 1)[:, 0]
        start /= np.linalg.norm(start)
        receiver, _ = polish(problem, start, np.ones(8, np.bool_))
        assert problem.served(receiver)[problem.served(start)].all()


def grid_receivers():
    angle, phase = np.meshgrid(
        np.linspace(0, np.pi / 2, 400), np.linspace(-np.pi, np.pi, 800, endpoint=False)
    )
    return np.stack([np.cos(angle), np.sin(angle) * np.exp(1j * phase)]).reshape(2, -1)


@pytest.mark.parametrize("csi_error", [0.0, 0.2])
def test_polishing_from_the_best_grid_point_is_as_good_as_the_grid(csi_error):
    rng = np.random.default_rng(4)
    grid = grid_receivers()
    for _ in range(10):
        channels = iid_channels(rng, 2, 4)
        problem = Problem(channels, rng.uniform(0.5, 1.5, 4), 50.0, csi_error=csi_error)
        gains = np.abs(grid.conj().T @ channels)
        feasible = (gains**2 >= problem.required_gains).all(1)
        if not feasible.any():
            continue
        levels = np.where(feasible, (gains / problem.weights).min(1), 0)
        best = levels.argmax()
        # From the best grid point, or from the same hill nearby, to its top and no further.
        receiver, active = polish(problem, grid[:, best], np.ones(4, np.bool_), tolerance=1e-8)
        reached = level_of(problem, receiver, active)
        assert levels[best] * (1 - 1e-9) <= reached <= levels[best] * 1.02


@pytest.mark.parametrize("csi_error", [0.0, 0.1])
def test_visits_are_bounded_across_levels_and_joins(monkeypatch, csi_error):
    """Every minimisation gets what the ones before it have left."""
    calls, most = [], 2000

    def counted(rows, members, receiver, tolerance, limit, stop, target):
        visits = minimise_norm(rows, members, receiver, tolerance, limit, stop, target)
        calls.append((limit, visits, members.size))
        return visits

    monkeypatch.setattr(level, "minimise_norm", counted)
    monkeypatch.setattr(polishing, "raise_level", level.raise_level.py_func)
    rng = np.random.default_rng(5)
    with_joins = exhausted = 0
    for _ in range(100):
        problem = Problem(
            iid_channels(rng, 4, 24), rng.uniform(0.5, 1.5, 24), 1.0, csi_error=csi_error
        )
        selection = select(problem, MatchingPursuitParameters(), Context())
        calls.clear()
        polish(problem, selection.receiver, selection.active, most_visits=most)
        spent = 0
        for limit, visits, _ in calls:
            assert limit <= most - spent
            spent += visits
        with_joins += len({size for _, _, size in calls}) > 1
        exhausted += spent >= most
    assert with_joins >= 10
    assert exhausted


def test_stop_ends_polishing_at_once():
    rng = np.random.default_rng(6)
    problem = Problem(iid_channels(rng, 4, 12), np.ones(12), 0.01)
    start = iid_channels(rng, 4, 1)[:, 0]
    receiver, active = polish(problem, start, np.ones(12, np.bool_), np.ones(1, np.bool_))
    assert active.all()
    np.testing.assert_allclose(receiver, start / np.linalg.norm(start))


@pytest.mark.parametrize("algorithm", ["all_devices", "sdr"])
def test_an_interrupted_polish_says_so(algorithm):
    """These do not look at the stop flag: what stopped is the polishing."""
    problem = Problem(iid_channels(np.random.default_rng(7), 4, 8), np.ones(8), 2.0)
    for stopped, polished, expected in (
        (True, True, "deadline"),
        (True, False, "converged"),
        (False, True, "converged"),
    ):
        stop = np.array([stopped])
        assert solve(problem, algorithm, stop=stop, polish=polished).stopped == expected


def test_nobody_active_is_left_alone():
    problem = Problem(np.ones((2, 3)), np.ones(3), 1e-3)
    _, active = polish(problem, np.ones(2, np.complex128), np.zeros(3, np.bool_))
    assert not active.any()
