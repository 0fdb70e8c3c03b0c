"""The bound is never below what can be served, in floating point too, and it is attained."""

import time
from fractions import Fraction

import numpy as np
import pytest

from app.scheduling import (
    SCHEDULERS,
    Problem,
    SolveSpec,
    VerificationError,
    bounding,
    plain,
    solve,
    with_bound,
)
from app.scheduling.bounding import MOST_DEVICES, STRONG, prove, relaxation_bound
from app.scheduling.kernels.proof import tree
from app.scheduling.kernels.proof.bound import (
    CENTRE,
    CUT,
    GAIN,
    HALF,
    IN,
    NU,
    SIGMA,
    STATUS,
    TAU,
    UNDECIDED,
)
from app.scheduling.kernels.proof.branching import largest_responses
from app.scheduling.kernels.proof.reach import pairwise_reach
from app.scheduling.kernels.proof.relaxation import OPEN, PRUNED, relax
from app.scheduling.schedulers.dual_pursuit import DualPursuitParameters
from lab.channels import iid_channels
from lab.oracles.exhaustive import most_devices
from lab.problems import iid_problems, network_problems, random_problem


def never():
    return np.zeros(1, np.bool_)


def served_by(problem, proof):
    return 0 if proof.receiver is None else int(problem.served(proof.receiver).sum())


def test_equals_the_exhaustive_search():
    """Nothing is known beforehand, so the search must find as many itself, and no more exist."""
    rng = np.random.default_rng(20)
    larger = 0
    for _ in range(60):
        problem = random_problem(rng, 12)
        best = most_devices(problem)
        proof = prove(problem, 0, never())
        assert proof.stopped == "converged"
        assert proof.upper_bound == served_by(problem, proof) == best
        larger += best > 2
    assert larger > 20


def test_the_relaxation_alone_is_no_less_than_the_exhaustive_search():
    rng = np.random.default_rng(30)
    nearer = 0
    for _ in range(40):
        problem = random_problem(rng, 12)
        best = most_devices(problem)
        bound = relaxation_bound(problem, 0.0)
        assert best <= bound <= problem.devices
        nearer += bound < problem.devices
    assert nearer > 20


@pytest.mark.parametrize("gamma_db", [-4, -1, 1])
def test_never_below_many_starts_of_dual_pursuit(gamma_db):
    many = DualPursuitParameters(starts=100)
    for problem in iid_problems(8, 6, 16, gamma_db, seed=21):
        proof = prove(problem, 0, never())
        assert proof.upper_bound >= solve(problem, "dual_pursuit", many).active.size


def test_never_below_a_planted_set_that_just_meets_its_thresholds():
    """Some devices need exactly the gain that one receiver gives them, to the last bit."""
    rng = np.random.default_rng(22)
    for _ in range(150):
        antennas, devices = int(rng.integers(1, 7)), int(rng.integers(1, 15))
        channels = iid_channels(rng, antennas, devices) * 10 ** rng.uniform(-2, 2, devices)
        receiver = iid_channels(rng, antennas, 1)[:, 0]
        receiver /= np.linalg.norm(receiver)
        gains = np.abs(receiver.conj() @ channels)
        planted = rng.random(devices) < 0.7
        weights = np.where(planted, gains, gains * rng.uniform(1, 3, devices))
        problem = Problem(channels, weights, 1.0)
        spent = np.array([rng.random() < 0.2])
        assert prove(problem, 0, never(), spent).upper_bound >= problem.served(receiver).sum()


def test_spread_of_200_decibels():
    rng = np.random.default_rng(23)
    proven = 0
    for _ in range(30):
        channels = iid_channels(rng, 4, 12) * 10 ** rng.uniform(-5, 5, 12)
        problem = Problem(channels, 10 ** rng.uniform(-1, 1, 12), 1.0)
        found = solve(problem, "dual_pursuit", DualPursuitParameters(starts=50)).active.size
        proof = prove(problem, found, never())
        assert proof.upper_bound >= found
        proven += proof.upper_bound == max(found, served_by(problem, proof))
    assert proven >= 28


def test_devices_too_strong_for_the_numbers_count_as_served():
    channels = np.array([[1e29, 1e-29, 1.0, 2 * STRONG], [0, 0, 0, 0]])
    problem = Problem(channels, np.ones(4), 1.0)
    proof = prove(problem, 0, never())
    assert proof.upper_bound == served_by(problem, proof) == 3


@pytest.mark.parametrize(
    ("channels", "best"),
    [
        pytest.param(np.zeros((2, 3)), 0, id="all zero"),
        pytest.param(np.array([[0.5, 2j, -1, 0]]), 2, id="one antenna"),
        pytest.param(np.ones((3, 5)), 5, id="equal devices"),
        pytest.param(np.outer([1, 1j, 0.5], [1, 2, 0.1, 1j]), 3, id="rank one"),
        pytest.param(2 * np.eye(6), 4, id="orthogonal, four with equality"),
        pytest.param(np.sqrt(2) * np.repeat(np.eye(4), 2, 1), 4, id="duplicates, with equality"),
    ],
)
def test_degenerate_channels(channels, best):
    problem = Problem(channels, np.ones(channels.shape[1]), 1.0)
    proof = prove(problem, 0, never())
    assert proof.upper_bound == best
    assert served_by(problem, proof) in (0, best)
    assert solve(problem, "optimal").active.size == best


def test_any_moment_to_stop_leaves_a_bound():
    (problem,) = network_problems(1, 6, 20, 11, seed=24)
    optimum = solve(problem, "optimal").active.size
    proof = prove(problem, 0, np.ones(1, np.bool_))
    assert proof.stopped == "deadline"
    assert proof.upper_bound >= optimum


def test_a_node_that_cannot_be_split_does_not_end_the_search(monkeypatch):
    """It is set aside with its bound; what lies in other nodes is found all the same."""
    # Compiled code calls no other function in place of its own; the same code, interpreted, does.
    searched = getattr(tree.search_tree, "py_func", tree.search_tree)
    split = tree.most_promising
    aside = 0

    def search(*arguments):
        nonlocal aside
        # The first node of the search for the optimum that might be split is not.
        refused = arguments[5] != best

        def refuse_once(node, rows, receiver):
            nonlocal refused, aside
            if refused:
                return split(node, rows, receiver)
            refused, aside = True, aside + 1
            # Nor does its receiver lead anywhere.
            receiver[:] = 0.0
            return -1

        monkeypatch.setattr(tree, "most_promising", refuse_once)
        return searched(*arguments)

    monkeypatch.setattr(bounding, "search_tree", search)
    found = 0
    for problem in iid_problems(12, 3, 8, -2.0, seed=34):
        best = most_devices(problem)
        before = aside
        proof = prove(problem, best - 1, never())
        assert proof.upper_bound >= best
        assert proof.upper_bound == best or proof.stopped == "limit"
        found += aside > before and served_by(problem, proof) == best
    assert found > 2


def test_more_devices_than_the_relaxation_takes():
    devices = MOST_DEVICES + 9
    channels = iid_channels(np.random.default_rng(25), 2, devices)
    channels *= 2 / np.linalg.norm(channels, axis=0)
    channels[:, 5] /= 10
    proof = prove(Problem(channels, np.ones(devices), 1.0), 0, never())
    assert proof.stopped == "limit"
    assert proof.upper_bound == devices - 1


def random_node(rng, devices):
    """Scaled channels, what is decided about them, and receivers for which it holds."""
    rows = iid_channels(rng, devices, 4) * rng.uniform(0.8, 2, (devices, 1))
    rows *= np.maximum(1.0, 1.001 / np.linalg.norm(rows, axis=1))[:, None]
    sizes = np.sum(np.abs(rows) ** 2, axis=1)
    node, scalars = np.zeros((5, devices)), np.zeros(4)
    node[HALF] = np.pi
    anchor = rows[0] / np.linalg.norm(rows[0])
    receivers = anchor + rng.uniform(0, 0.7, (2000, 1)) * iid_channels(rng, 2000, 4)
    receivers /= np.linalg.norm(receivers, axis=1)[:, None]
    responses = receivers @ rows.conj().T
    receivers *= (responses[:, 0] / np.abs(responses[:, 0])).conj()[:, None]
    responses = receivers @ rows.conj().T
    node[STATUS, 0], node[HALF, 0] = IN, 0.0
    inside = np.abs(responses[:, 0]) >= 1
    for k in range(1, 4):
        node[STATUS, k] = IN
        node[CENTRE, k] = np.angle(responses[0, k]) + rng.uniform(-0.3, 0.3)
        node[HALF, k] = rng.uniform(0.2, 1.3)
        turned = np.angle(responses[:, k] * np.exp(-1j * node[CENTRE, k]))
        inside &= (np.abs(responses[:, k]) >= 1) & (np.abs(turned) <= node[HALF, k])
    most = np.empty(devices)
    largest_responses(node, sizes, pairwise_reach(rows, sizes), most)
    return rows, sizes, most, node, scalars, responses[inside]


def test_a_node_bounds_every_receiver_in_it():
    rng = np.random.default_rng(26)
    checked = 0
    for case in range(60):
        rows, sizes, most, node, scalars, responses = random_node(rng, 9)
        values = rng.uniform(0.01, 1.0, 9) if case % 2 else np.ones(9)
        assert (np.abs(responses) <= most * (1 + 1e-9)).all()
        receiver = np.empty(4, np.complex128)
        outcome, bound = relax(
            rows, sizes, most, values, node, scalars, 0, 1e-6, receiver, never(), never()
        )
        if responses.size:
            checked += 1
            assert outcome == OPEN
            assert ((np.abs(responses) >= 1) @ values).max() <= bound
    assert checked > 20


def is_positive(matrix):
    """Whether a Hermitian matrix of pairs of fractions has positive pivots, exactly."""
    size = len(matrix)
    for j in range(size):
        pivot = matrix[j][j][0]
        if pivot <= 0:
            return False
        for i in range(j + 1, size):
            a, b = matrix[i][j]
            for k in range(j + 1, i + 1):
                c, d = matrix[k][j]
                x, y = matrix[i][k]
                # Minus (a + bi)(c - di) over the pivot.
                matrix[i][k] = (x - (a * c + b * d) / pivot, y - (b * c - a * d) / pivot)
    return True


@pytest.mark.parametrize("size", [1.0, 1e2, 1e5])
def test_the_bound_covers_its_rounding(size):
    """In exact arithmetic P + eI is positive definite, where D + 2e is the bound that is claimed.

    With a reference and no sectors all coefficients are rational.
    """
    rng = np.random.default_rng(27)
    for case in range(12):
        rows = iid_channels(rng, 8, 3) * size ** rng.uniform(0, 1, (8, 1)) * 2
        sizes = np.sum(np.abs(rows) ** 2, axis=1)
        node, scalars = np.zeros((5, 8)), np.zeros(4)
        node[HALF] = np.pi
        if case % 2:
            node[STATUS, 0], node[HALF, 0] = IN, 0.0
        node[STATUS, 1] = IN
        most = np.maximum(1.0, np.sqrt(sizes) * 1.0000001)
        values = np.ones(8) if case < 6 else rng.uniform(1e-3, 1.0, 8)
        receiver = np.empty(3, np.complex128)
        _, bound = relax(
            rows, sizes, most, values, node, scalars, 0, 1e-9, receiver, never(), never()
        )
        gain, cut = ([Fraction(x) for x in node[row]] for row in (GAIN, CUT))
        nu, sigma, tau = (Fraction(scalars[i]) for i in (NU, SIGMA, TAU))
        reach = [Fraction(x) for x in most]
        assert all(g >= 0 for g in gain + cut)
        undecided = node[STATUS] == UNDECIDED
        assert (node[GAIN, undecided] <= values[undecided]).all()
        dual = (
            sigma
            + tau
            + sum(Fraction(v) - g for v, g in zip(values, gain, strict=True))
            - sum(m * r for m, r in zip(cut, reach, strict=True))
        )
        spare = (Fraction(bound) - dual) / 2
        assert spare > 0
        channels = [[(Fraction(x.real), Fraction(x.imag)) for x in row] for row in rows]
        matrix = [[(Fraction(0), Fraction(0))] * 4 for _ in range(4)]
        matrix[0][0] = (sigma + spare, Fraction(0))
        for i in range(3):
            weight = cut[0] * (1 + reach[0])
            a, b = channels[0][i]
            # -v/2 with v = μβa + iνa.
            matrix[i + 1][0] = (-(weight * a - nu * b) / 2, -(weight * b + nu * a) / 2)
            for j in range(i + 1):
                real = sum(
                    (m - g) * (row[i][0] * row[j][0] + row[i][1] * row[j][1])
                    for g, m, row in zip(gain, cut, channels, strict=True)
                )
                imaginary = sum(
                    (m - g) * (row[i][1] * row[j][0] - row[i][0] * row[j][1])
                    for g, m, row in zip(gain, cut, channels, strict=True)
                )
                matrix[i + 1][j + 1] = (real + (i == j) * (tau + spare), imaginary)
        assert is_positive(matrix)


def test_an_excluding_pair_is_pruned():
    rows = np.array([[1.2, 0], [0, 1.2]], np.complex128)
    sizes = np.array([1.44, 1.44])
    reach = pairwise_reach(rows, sizes)
    assert reach[0, 1] < 1
    node, scalars = np.zeros((5, 2)), np.zeros(4)
    node[HALF] = np.pi
    outcome, bound = relax(
        rows,
        sizes,
        np.sqrt(sizes),
        np.ones(2),
        node,
        scalars,
        2,
        1e-3,
        np.empty(2, complex),
        never(),
        never(),
    )
    assert outcome == PRUNED
    assert 1 <= bound < 2


def test_reach_is_attained_and_never_exceeded():
    rng = np.random.default_rng(28)
    rows = iid_channels(rng, 5, 3) * 1.5 + 0.7
    sizes = np.sum(np.abs(rows) ** 2, axis=1)
    reach = pairwise_reach(rows, sizes)
    receivers = iid_channels(rng, 20000, 3)
    receivers /= np.linalg.norm(receivers, axis=1)[:, None]
    responses = np.abs(receivers @ rows.conj().T)
    for j in range(5):
        largest = responses[responses[:, j] >= 1].max(axis=0)
        assert (largest <= reach[j]).all()
        assert (largest >= 0.9 * reach[j]).all()


@pytest.mark.parametrize("name", sorted(SCHEDULERS))
def test_bound_where_estimates_may_be_wrong(name):
    """It is not tight there, but valid: nobody finds more."""
    rng = np.random.default_rng(33)
    for gamma in (0.6, 2.0):
        weights = rng.uniform(0.5, 1.5, 9)
        problem = Problem(iid_channels(rng, 3, 9), weights, gamma, 1.0, 0.1, csi_error=0.05)
        schedule = solve(problem, name, bound=True, bound_ms=5e3)
        most = max(solve(problem, other).active.size for other in ("dual_pursuit", "exhaustive"))
        assert schedule.upper_bound >= most


@pytest.mark.parametrize("name", sorted(SCHEDULERS))
def test_bound_beside_every_algorithm(name):
    """No schedule exceeds its bound, and those with the proven most are called optimal."""
    rng = np.random.default_rng(30)
    for gamma in (0.1, 0.6, 2.0):
        problem = Problem(iid_channels(rng, 3, 9), rng.uniform(0.5, 1.5, 9), gamma)
        best = most_devices(problem)
        plain = solve(problem, name)
        schedule = solve(problem, name, bound=True, bound_ms=5e3)
        np.testing.assert_array_equal(schedule.active, plain.active)
        np.testing.assert_array_equal(schedule.transmit_scalars, plain.transmit_scalars)
        assert schedule.upper_bound == best
        assert schedule.optimal == (
            schedule.active.size == best and schedule.feasible == (best > 0)
        )
        assert plain.upper_bound is None or name in ("optimal", "exhaustive")


def test_a_schedule_above_its_bound_is_a_bug(monkeypatch):
    (problem,) = iid_problems(1, 4, 6, 3, seed=31)
    monkeypatch.setattr(plain, "bounded", lambda *_: 1)
    with pytest.raises(VerificationError, match="proven"):
        solve(problem, bound=True)


def test_a_bound_that_comes_with_a_schedule_is_checked_too():
    """Whether an algorithm proves it, or it was proven before."""
    (problem,) = iid_problems(1, 4, 6, 3, seed=31)
    schedule = solve(problem, "optimal")
    spec = SolveSpec(SCHEDULERS["optimal"], SCHEDULERS["optimal"].parameters())
    assert with_bound(problem, schedule, spec) is schedule
    with pytest.raises(VerificationError, match="proven"):
        with_bound(problem, schedule._replace(upper_bound=1.0), spec)


def test_the_time_for_a_bound_is_kept():
    (problem,) = iid_problems(1, 8, 60, -1, seed=32)
    solve(problem, bound=True)
    begun = time.perf_counter()
    schedule = solve(problem, bound=True, bound_ms=50)
    assert time.perf_counter() - begun < 2
    assert not schedule.optimal


def test_nothing_at_all_is_optimal_where_nobody_can_be_served():
    schedule = solve(Problem(np.zeros((2, 3)), np.ones(3), 1.0), bound=True)
    assert (schedule.upper_bound, schedule.optimal, schedule.feasible) == (0, True, False)
