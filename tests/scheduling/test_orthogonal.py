"""Channels that are orthogonal to each other: what a receiver picks up of them may be rounding."""

import itertools

import numpy as np
import pytest

from app.scheduling import (
    IRS_SCHEDULERS,
    SCHEDULERS,
    WIDEBAND_SCHEDULERS,
    IrsProblem,
    Problem,
    WidebandProblem,
    solve,
)
from lab.channels import random_unitary

QUICK = ["all_devices", "dual_pursuit", "matching_pursuit", "optimal"]
GAMMAS = [1.0, 1e4, 1e10, 1e20, 1e30]


def pairs_with_one_decimal(rng):
    """Orthogonal columns (a, b) and (-b*, a*), scaled, with entries that are not exact."""
    while True:
        a, b = (np.round(rng.uniform(-2, 2, 2) @ [1, 1j], 1) for _ in range(2))
        scales = np.round(rng.uniform(0.1, 2, 2), 1)
        yield np.array([[a, -np.conj(b)], [b, np.conj(a)]]) * scales


def fourier(rng):
    while True:
        size = int(rng.integers(2, 17))
        yield np.fft.fft(np.eye(size)) * 10 ** rng.uniform(-1, 1, size)


def unitary(rng):
    while True:
        size = int(rng.integers(2, 9))
        yield random_unitary(rng, size) * 10 ** rng.uniform(-1, 1, size)


@pytest.mark.parametrize("family", [pairs_with_one_decimal, fourier, unitary])
@pytest.mark.parametrize("name", QUICK)
def test_orthogonal_channels_are_scheduled(family, name):
    """Each is verified inside; a device without a response of its own is left out."""
    rng = np.random.default_rng(51)
    for channels, gamma in zip(itertools.islice(family(rng), 60), itertools.cycle(GAMMAS)):
        problem = Problem(channels, np.ones(channels.shape[1]), gamma)
        for options in ({}, {"coordination": "mmse", "polish": True}):
            schedule = solve(problem, name, **options)
            if schedule.active.size:
                responses = np.abs(schedule.receiver.conj() @ channels)
                shares = responses / np.linalg.norm(channels, axis=0)
                assert (shares[schedule.active] > 1e-7).all()


def test_the_reported_pair():
    channels = np.array([[0.2 - 0.2j, -2 + 2j], [1 + 1j, 0.4 + 0.4j]])
    assert abs(np.vdot(channels[:, 0], channels[:, 1])) < 1e-15
    schedule = solve(Problem(channels, np.ones(2), 1.0), "all_devices")
    assert schedule.active.tolist() == [1]
    assert not solve(Problem(channels, np.ones(2), 0.01), "all_devices").feasible


@pytest.mark.parametrize("name", sorted(SCHEDULERS))
def test_steering_vectors_at_right_angles_with_a_light_device(name):
    steering = np.exp(1j * np.pi * np.outer(np.arange(4), [0.42, 0.92]))
    schedule = solve(Problem(steering, np.array([1.0, 1e-8]), 1.0), name)
    responses = np.abs(schedule.receiver.conj() @ steering)
    assert (responses[schedule.active] > 1e-7).all()


@pytest.mark.parametrize("name", sorted(IRS_SCHEDULERS))
def test_behind_a_surface(name):
    rng = np.random.default_rng(52)
    for gamma in GAMMAS:
        direct = random_unitary(rng, 3)
        reflected = 1e-9 * random_unitary(rng, 3)
        problem = IrsProblem(direct, reflected, reflected, np.ones(3), gamma)
        solve(problem, name, coordination="mmse", polish=True)
        solve(problem, name)


@pytest.mark.parametrize("name", sorted(WIDEBAND_SCHEDULERS))
@pytest.mark.parametrize("criterion", ["mean", "each"])
def test_over_a_band(name, criterion):
    for gamma, antennas, devices in itertools.product(GAMMAS, range(2, 7), (6, 9, 11)):
        orthogonal = np.resize(np.fft.fft(np.eye(antennas)).T, (devices, antennas)).T
        for channels in (orthogonal[None], np.stack([orthogonal, 2 * orthogonal])):
            problem = WidebandProblem(
                channels, np.ones(channels.shape[2]), gamma, criterion=criterion
            )
            for options in ({}, {"coordination": "mmse", "polish": True}):
                schedule = solve(problem, name, **options)
                if not schedule.active.size:
                    continue
                for receiver, tone in zip(schedule.receiver, channels, strict=True):
                    responses = np.abs(receiver.conj() @ tone)
                    shares = responses / np.linalg.norm(tone, axis=0)
                    assert (shares[schedule.active] > 1e-7).all()
