"""The kernels against the plain SVD version, and against the paper."""

import numpy as np
import pytest

from app.scheduling import Context, Problem, solve
from app.scheduling.schedulers.matching_pursuit import MatchingPursuitParameters, select
from app.scheduling.stopping import flag_after
from lab.channels import iid_channels
from lab.oracles import plain_pursuit
from lab.paper import curves
from lab.problems import random_problem

SEARCHES = ("backward", "forward", "bidirectional")


def expected(problem: Problem, parameters: MatchingPursuitParameters) -> plain_pursuit.Result:
    channels, required = problem.channels, problem.required_gains
    if parameters.search == "forward":
        return plain_pursuit.forward(channels, required, parameters.delta)
    bidirectional = parameters.search == "bidirectional"
    return plain_pursuit.backward(channels, required, parameters.delta, bidirectional)


def assert_agrees(problem: Problem, parameters: MatchingPursuitParameters) -> None:
    receiver, active, iterations = expected(problem, parameters)
    schedule = solve(problem, "matching_pursuit", parameters)
    np.testing.assert_array_equal(schedule.active, np.flatnonzero(active))
    assert schedule.iterations == iterations
    if active.any():
        assert abs(np.vdot(schedule.receiver, receiver)) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("search", SEARCHES)
def test_agrees_with_plain_svd_on_random_problems(search):
    rng = np.random.default_rng(20)
    for _ in range(2000):
        parameters = MatchingPursuitParameters(float(rng.uniform(0.01, 0.99)), search)
        assert_agrees(random_problem(rng), parameters)


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize(
    ("antennas", "devices", "gamma_db"), [(16, 60, 0), (32, 80, 3), (12, 150, 3)]
)
def test_agrees_with_plain_svd_on_large_problems(search, antennas, devices, gamma_db):
    rng = np.random.default_rng(21)
    for _ in range(5):
        channels = iid_channels(rng, antennas, devices)
        problem = Problem(channels, np.ones(devices), 10 ** (gamma_db / 10))
        assert_agrees(problem, MatchingPursuitParameters(search=search))


def block_diagonal(rng):
    # Two cells that do not hear each other: the warm start has no part in the other block.
    channels = np.zeros((6, 10), complex)
    channels[:3, :5] = iid_channels(rng, 3, 5)
    channels[3:, 5:] = 0.9 * iid_channels(rng, 3, 5)
    return channels


DEGENERATE = {
    "equal singular values": lambda rng: np.eye(4),
    "orthogonal columns of equal norm": lambda rng: np.fft.fft(np.eye(8)) / np.sqrt(8),
    "two equal, two smaller": lambda rng: np.diag([1.0, 1.0, 0.5, 0.25]),
    "repeated device": lambda rng: np.repeat(iid_channels(rng, 4, 3), 3, axis=1),
    "rank one": lambda rng: np.outer(iid_channels(rng, 5, 1), iid_channels(rng, 1, 7)),
    "zero columns": lambda rng: iid_channels(rng, 3, 6) * np.array([1, 0, 1, 0, 0, 1]),
    "all zero": lambda rng: np.zeros((3, 4)),
    "one device": lambda rng: iid_channels(rng, 5, 1),
    "one antenna": lambda rng: iid_channels(rng, 1, 9),
    "one of each": lambda rng: iid_channels(rng, 1, 1),
    "blocks": block_diagonal,
    "strongest dropped first": lambda rng: iid_channels(rng, 3, 6) * 10.0 ** np.arange(6),
}


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("gamma_db", [-6, 0, 2, 6, 12])
def test_agrees_with_plain_svd_in_degenerate_cases(name, search, gamma_db):
    channels = DEGENERATE[name](np.random.default_rng(22))
    weights = np.ones(channels.shape[1])
    if name == "strongest dropped first":
        weights = 100.0 ** np.arange(6)
    problem = Problem(channels, weights, 10 ** (gamma_db / 10))
    assert_agrees(problem, MatchingPursuitParameters(search=search))


def test_tie_is_decided_for_the_lowest_index():
    # Four orthogonal devices of equal strength, and a tolerance at which one receiver, equal in
    # all antennas, serves exactly two of them: |h_kᴴc|² = 1/2.
    schedule = solve(Problem(np.eye(4), np.ones(4), gamma=2.0))
    assert schedule.active.tolist() == [2, 3]


def test_drops_by_violation_not_by_gain():
    # Device 0 is the strongest, but its weight asks for more than it has: F_0 is the largest.
    problem = Problem(np.array([[2.0, 1.0]]), np.array([4.0, 0.5]), gamma=1.0)
    assert solve(problem).active.tolist() == [1]


@pytest.mark.parametrize("delta", [0.55, 0.8, 0.95])
def test_bidirectional_ends_where_the_naive_rule_cycles(delta):
    """Without a bound on returns, most of these go on for ever at δ = 0.95, and none at 0.55."""
    rng = np.random.default_rng(23)
    parameters = MatchingPursuitParameters(delta, "bidirectional")
    for _ in range(100):
        problem = Problem(iid_channels(rng, 6, 20), np.ones(20), 10**-0.1)
        schedule = solve(problem, parameters=parameters)
        assert schedule.iterations <= 2 * problem.devices + 1


@pytest.mark.parametrize("search", ["backward", "bidirectional"])
def test_the_best_so_far_at_the_deadline(search):
    """A backward search takes seconds for so many devices."""
    channels = iid_channels(np.random.default_rng(25), 64, 4000)
    problem = Problem(channels, np.ones(4000), gamma=0.3)
    with flag_after(0.3) as stop:
        schedule = solve(problem, parameters=MatchingPursuitParameters(search=search), stop=stop)
    assert schedule.stopped == "deadline"
    assert schedule.feasible
    assert schedule.iterations < 3900


@pytest.mark.parametrize(("series", "gamma_db"), [("gamma_0_db", 0), ("gamma_5_db", 5)])
def test_reproduces_the_papers_curve(series, gamma_db):
    """Fig. 2: mean |S| against δ, within 0.15 of a device at every point up to δ = 0.9.

    Beyond it the paper lies up to 0.25 below Algorithm 1 as it is printed: at 0 dB and δ = 0.99 it
    plots 4.17, while 10,000 channels give 4.41 ± 0.02, and a plain SVD loop likewise.
    """
    rng = np.random.default_rng(24)
    problems = [
        Problem(iid_channels(rng, 6, 20), np.ones(20), 10 ** (gamma_db / 10)) for _ in range(4000)
    ]
    points = curves("active_vs_delta")[series]
    assert len(points) == 50
    for delta, value in points.items():
        parameters = MatchingPursuitParameters(delta)
        selections = [select(problem, parameters, Context()) for problem in problems]
        mean = np.mean([np.count_nonzero(selection.active) for selection in selections])
        assert mean == pytest.approx(value, abs=0.15 if delta < 0.9 else 0.3), f"δ = {delta}"
