"""The channel update policies and the joint rise of the level: what they promise."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.scheduling.irs.phases import POLICIES, PhaseGrid
from app.scheduling.kernels.matching.algorithm_1 import principal_receiver
from app.scheduling.kernels.surface import phases as kernels
from app.scheduling.kernels.surface.level import ascend, ascend_on_grid, raise_level, soft_level
from lab.channels import iid_channels
from lab.oracles import plain_joint_pursuit
from lab.problems import random_irs_problem

every_policy = pytest.mark.parametrize("policy", POLICIES)
NEVER = np.zeros(1, np.bool_)


def drawn(seed, bits):
    """A problem, a unit receiver, weights of which some are zero, and phases."""
    rng = np.random.default_rng(seed)
    problem = random_irs_problem(rng, phase_bits=bits)
    receiver = iid_channels(rng, problem.antennas, 1)[:, 0].copy()
    receiver /= np.linalg.norm(receiver)
    weights = rng.uniform(0, 1, problem.devices) * rng.integers(0, 2, problem.devices)
    return problem, receiver, weights, problem.grid.random(rng, problem.elements)


def sum_of_gains(problem, receiver, weights, phases):
    channels = problem.direct + problem.irs_to_server @ np.diag(phases) @ problem.devices_to_irs
    return weights @ np.abs(receiver.conj() @ channels) ** 2


@every_policy
@settings(deadline=None, max_examples=100)
@given(seed=st.integers(0, 2**32), bits=st.sampled_from([None, 1, 2, 4]))
def test_no_update_lowers_the_objective(policy, seed, bits):
    problem, receiver, weights, phases = drawn(seed, bits)
    surface = problem.surface
    responses = kernels.response_space(surface)
    kernels.respond(surface, receiver, phases, responses)
    step = {"mm": kernels.mm_step, "bcd": kernels.bcd_sweep}[policy]
    before = sum_of_gains(problem, receiver, weights, phases)
    for _ in range(5):
        step(surface, weights, phases, responses)
        after = sum_of_gains(problem, receiver, weights, phases)
        assert after >= before * (1 - 1e-12)
        assert kernels.objective(responses, weights) == pytest.approx(after, rel=1e-9, abs=1e-12)
        assert np.abs(np.abs(phases) - 1).max() <= 1e-12
        assert problem.grid.holds(phases)
        # The receiver's turn: the principal one of the weighted channels is no worse.
        receiver = principal_receiver(problem.tuned(phases).channels * np.sqrt(weights))
        before = sum_of_gains(problem, receiver, weights, phases)
        assert before >= after * (1 - 1e-9)
        kernels.respond(surface, receiver, phases, responses)


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 2**32), bits=st.sampled_from([None, 1, 3]))
def test_bcd_takes_the_best_phase_of_each_element(seed, bits):
    """The last element it visits has no better phase, with all others as they are."""
    problem, receiver, weights, phases = drawn(seed, bits)
    responses = kernels.response_space(problem.surface)
    kernels.respond(problem.surface, receiver, phases, responses)
    kernels.bcd_sweep(problem.surface, weights, phases, responses)
    reached = sum_of_gains(problem, receiver, weights, phases)
    steps = 64 if bits is None else 2**bits
    for angle in 2 * np.pi * np.arange(steps) / steps:
        other = phases.copy()
        other[problem.order[-1]] = np.exp(1j * angle)
        assert sum_of_gains(problem, receiver, weights, other) <= reached * (1 + 1e-9)


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 2**32))
def test_slope_is_that_of_the_quadratic_form(seed):
    problem, receiver, weights, phases = drawn(seed, None)
    surface = problem.surface
    responses = kernels.response_space(surface)
    kernels.respond(surface, receiver, phases, responses)
    matrix, linear, _ = plain_joint_pursuit.quadratic_form(
        problem.direct, problem.irs_to_server, problem.devices_to_irs, weights, receiver
    )
    expected = matrix @ phases + linear
    single = [kernels.slope(responses, m, weights) for m in range(problem.elements)]
    np.testing.assert_allclose(single, expected, rtol=1e-9, atol=1e-12)
    together = kernels.slopes(surface, responses, weights)
    np.testing.assert_allclose(together, expected, rtol=1e-9, atol=1e-12)


@every_policy
@pytest.mark.parametrize("elements", [1, 2, 3])
def test_reaches_the_optimum_of_a_fine_grid(policy, elements):
    rng = np.random.default_rng(elements)
    steps = {1: 10_000, 2: 500, 3: 90}[elements]
    angles = np.exp(2j * np.pi * np.arange(steps) / steps)
    grid = np.array(list(itertools.product(angles, repeat=elements)))
    for _ in range(10):
        problem = random_irs_problem(
            rng,
            irs_to_server=iid_channels(rng, 3, elements),
            direct=iid_channels(rng, 3, 5),
            devices_to_irs=iid_channels(rng, elements, 5),
            weights=np.ones(5),
            phase_bits=None,
        )
        receiver, weights = iid_channels(rng, 3, 1)[:, 0].copy(), rng.uniform(0, 1, 5)
        offsets = receiver.conj() @ problem.direct
        reflected = (receiver.conj() @ problem.irs_to_server)[:, None] * problem.devices_to_irs
        optimum = (np.abs(offsets + grid @ reflected) ** 2 @ weights).max()
        surface = problem.surface
        responses = kernels.response_space(surface)
        best = 0.0
        for _ in range(8):
            phases = problem.grid.random(rng, elements)
            moved, value = True, 0.0
            for _ in range(200):
                if not moved:
                    break
                value, moved = kernels.update_phases(
                    POLICIES[policy], surface, weights, receiver, phases, responses
                )
            best = max(best, value)
        assert best >= optimum * (1 - 1e-9)


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32), bits=st.sampled_from([None, 1, 3]))
def test_rise_never_lowers_the_level(seed, bits):
    problem, receiver, _, phases = drawn(seed, bits)
    rng = np.random.default_rng(seed)
    members = np.flatnonzero(rng.integers(0, 2, problem.devices))
    if members.size == 0:
        members = np.array([0])

    def level():
        channels = problem.tuned(phases).channels[:, members]
        return np.abs(receiver.conj() @ channels).min() / np.linalg.norm(receiver)

    before, start, first = level(), receiver.copy(), phases.copy()
    for alternations in (1, 2, 3, 4, 6, 10):
        # The last one tried is not always the best.
        receiver[:], phases[:] = start, first
        raise_level(problem.surface, members, receiver, phases, np.inf, alternations, NEVER)
        assert level() >= before * (1 - 1e-9)
        assert problem.grid.holds(phases)
        before = level()


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32), bits=st.sampled_from([None, 1, 2, 4]))
def test_responses_after_a_climb_are_those_of_its_phases(seed, bits):
    """Steps that are undone leave nothing behind, and those that are kept raise the bound."""
    problem, receiver, _, phases = drawn(seed, bits)
    surface = problem.surface
    members = np.arange(problem.devices)
    responses, fresh = kernels.response_space(surface), kernels.response_space(surface)
    kernels.respond(surface, receiver, phases, responses)
    unused = np.zeros(problem.devices)
    before = soft_level(responses, members, problem.devices, unused)
    if bits is None:
        ascend(surface, members, problem.devices, phases, responses, 1.0)
    else:
        ascend_on_grid(surface, members, problem.devices, phases, responses)
    assert problem.grid.holds(phases)
    kernels.respond(surface, receiver, phases, fresh)
    scale = np.abs(fresh.real).max() + np.abs(fresh.imag).max()
    np.testing.assert_allclose(responses.real, fresh.real, rtol=0, atol=1e-9 * scale)
    np.testing.assert_allclose(responses.imag, fresh.imag, rtol=0, atol=1e-9 * scale)
    assert soft_level(fresh, members, problem.devices, unused) >= before * (1 - 1e-9)


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32))
def test_the_bound_and_its_weights_are_those_of_the_formula(seed):
    """(Σ s_k^-16)^(-1/16) of the members, and weights in proportion to s_k^-17."""
    problem, receiver, _, phases = drawn(seed, None)
    rng = np.random.default_rng(seed)
    members = rng.permutation(problem.devices)
    count = int(rng.integers(1, problem.devices + 1))
    responses = kernels.response_space(problem.surface)
    kernels.respond(problem.surface, receiver, phases, responses)
    weights = np.full(problem.devices, -1.0)
    bound = soft_level(responses, members, count, weights)
    gains = np.abs(receiver.conj() @ problem.tuned(phases).channels) ** 2
    chosen = gains[members[:count]]
    relative = chosen / chosen.min()
    assert bound == pytest.approx(chosen.min() * np.sum(relative**-16.0) ** (-1 / 16), rel=1e-6)
    assert bound <= chosen.min() * (1 + 1e-12)
    np.testing.assert_allclose(weights[members[:count]], relative**-17.0, rtol=1e-6, atol=1e-12)
    assert (weights[members[count:]] == -1).all()


@pytest.mark.parametrize("elements", [1, 2])
def test_rise_reaches_the_best_level_of_a_grid(elements):
    """One antenna: the receiver does not matter, and the level is a function of the phases."""
    rng = np.random.default_rng(90 + elements)
    angles = np.exp(2j * np.pi * np.arange(720) / 720)
    grid = np.array(list(itertools.product(angles, repeat=elements)))
    for _ in range(10):
        problem = random_irs_problem(
            rng,
            direct=iid_channels(rng, 1, 3),
            irs_to_server=iid_channels(rng, 1, elements),
            devices_to_irs=iid_channels(rng, elements, 3),
            weights=np.ones(3),
            phase_bits=None,
        )
        reflected = problem.irs_to_server.T * problem.devices_to_irs
        optimum = np.abs(problem.direct[0] + grid @ reflected).min(axis=1).max()
        best = 0.0
        for _ in range(10):
            phases = problem.grid.random(rng, elements)
            members = np.arange(3)
            raise_level(problem.surface, members, np.ones(1, complex), phases, np.inf, 100, NEVER)
            best = max(best, np.abs(problem.tuned(phases).channels).min())
        # The bound that is raised lies below the level by up to a factor of 3^(1/32).
        assert 3 ** (-1 / 32) * optimum <= best <= optimum * 1.01


def test_grid():
    assert PhaseGrid(None).levels == 0
    assert PhaseGrid(3).levels == 8
    rng = np.random.default_rng(91)
    values = iid_channels(rng, 1, 1000)[0]
    for bits in (1, 2, 5):
        grid = PhaseGrid(bits)
        allowed = np.exp(2j * np.pi * np.arange(2**bits) / 2**bits)
        nearest = allowed[np.abs(values[:, None] / np.abs(values)[:, None] - allowed).argmin(1)]
        np.testing.assert_allclose(grid.nearest(values), nearest, atol=1e-12)
        kernel = [kernels.allowed_phase(value, grid.levels) for value in values]
        np.testing.assert_allclose(kernel, nearest, atol=1e-12)
        drawn_phases = grid.random(rng, 1000)
        assert grid.holds(drawn_phases)
        assert len(set(np.round(np.angle(drawn_phases), 6) % (2 * np.pi))) >= 2**bits
    assert not PhaseGrid(2).holds(np.array([np.exp(0.1j)]))
    assert not PhaseGrid(None).holds(np.array([1 + 1e-9]))
