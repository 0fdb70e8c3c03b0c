"""The air against the formulas, and against the error that the service reports."""

import numpy as np
import pytest

from airsched_client import SchedulerClient
from airsched_client.federated.air import aggregate, common_scale, transmit
from airsched_client.federated.channels import Network, NetworkParameters

DEVICES, ANTENNAS, SIZE = 12, 4, 100_000
WEIGHTS = np.linspace(0.4, 1.6, DEVICES)


@pytest.fixture(scope="module")
def scheduler(service_url):
    with SchedulerClient(service_url) as scheduler:
        yield scheduler


def draw(seed, csi_error=0.0):
    rng = np.random.default_rng(seed)
    network = Network(
        NetworkParameters(devices=DEVICES, antennas=ANTENNAS, csi_error=csi_error), rng
    )
    return network.fade(rng), rng


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("coordination", ["zero_forcing", "mmse"])
@pytest.mark.parametrize("algorithm", ["dual_pursuit", "all_devices"])
def test_measured_error_is_the_services(scheduler, seed, coordination, algorithm):
    channels, rng = draw(seed)
    schedule = scheduler.schedule(
        channels.direct,
        weights=WEIGHTS,
        gamma_db=20,
        power=2.0,
        noise_variance=0.03,
        algorithm=algorithm,
        coordination=coordination,
    )
    symbols = rng.standard_normal((schedule.active.size, SIZE))
    estimate = transmit(channels.direct, schedule, symbols, 0.03, rng)
    wanted = WEIGHTS[schedule.active] @ symbols
    errors = np.abs(estimate - wanted) ** 2
    error = schedule.computation_error
    # 100,000 draws of a variable whose deviation is at most √2 times its mean: five of them.
    assert errors.mean() == pytest.approx(error, rel=5 * np.sqrt(2 / SIZE))
    if coordination == "zero_forcing":
        # All of it is noise, and the real part has half.
        real = np.mean((estimate.real - wanted) ** 2)
        assert real == pytest.approx(error / 2, rel=5 * np.sqrt(2 / SIZE))
        assert abs(np.mean(estimate - wanted)) < 5 * np.sqrt(error / SIZE)


def test_without_noise_zero_forcing_gives_the_weighted_mean(scheduler):
    channels, rng = draw(3)
    schedule = scheduler.schedule(channels.direct, weights=WEIGHTS, gamma_db=15)
    # Of very unequal sizes: only a common factor keeps the sum the sum.
    sizes = 10.0 ** -np.arange(schedule.active.size)[:, None]
    updates = rng.standard_normal((schedule.active.size, 500)) * sizes
    result = aggregate(channels.direct, schedule, WEIGHTS, updates, 0.0, rng)
    expected = np.average(updates, axis=0, weights=WEIGHTS[schedule.active])
    np.testing.assert_allclose(result.mean, expected, atol=1e-12)
    assert result.measured_error < 1e-20


def test_power_of_what_is_sent_is_within_the_limit(scheduler):
    channels, rng = draw(4)
    schedule = scheduler.schedule(channels.direct, weights=WEIGHTS, gamma_db=15, power=3.0)
    updates = rng.standard_normal((schedule.active.size, 500)) * rng.uniform(
        0.01, 20, (schedule.active.size, 1)
    )
    symbols = updates / common_scale(updates)
    sent = schedule.transmit_scalars[schedule.active, None] * symbols
    assert np.all(np.mean(np.abs(sent) ** 2, axis=1) <= 3.0 * (1 + 1e-9))
    assert np.mean(symbols**2, axis=1).max() == pytest.approx(1)


def test_noise_of_the_mean_is_in_units_of_the_scale(scheduler):
    channels, rng = draw(5)
    schedule = scheduler.schedule(channels.direct, weights=WEIGHTS, gamma_db=15, noise_variance=0.1)
    updates = 7.0 * rng.choice([-1.0, 1.0], (schedule.active.size, SIZE))
    result = aggregate(channels.direct, schedule, WEIGHTS, updates, 0.1, rng)
    assert result.scale == pytest.approx(7)
    active = WEIGHTS[schedule.active]
    off = result.mean - np.average(updates, axis=0, weights=active)
    expected = 7 * np.sqrt(schedule.computation_error / 2) / active.sum()
    assert np.std(off) == pytest.approx(expected, rel=0.02)
    assert result.measured_error == pytest.approx(schedule.computation_error, rel=0.03)


def test_wrong_estimates_leave_an_error_that_the_schedule_does_not_know(scheduler):
    channels, rng = draw(6, csi_error=0.02)
    schedule = scheduler.schedule(
        channels.estimates, weights=WEIGHTS, gamma_db=20, csi_error=0.02, noise_variance=1e-12
    )
    updates = rng.standard_normal((schedule.active.size, 1000))
    result = aggregate(channels.direct, schedule, WEIGHTS, updates, 0.0, rng)
    gains = schedule.receiver.conj() @ channels.direct[:, schedule.active]
    scalars = schedule.transmit_scalars[schedule.active] / np.sqrt(schedule.power_factor)
    symbols = updates / common_scale(updates)
    missed = (gains * scalars - WEIGHTS[schedule.active]) @ symbols
    assert result.measured_error == pytest.approx(np.mean(np.abs(missed) ** 2))
    assert result.measured_error > schedule.computation_error


def test_nothing_to_say_is_zero(scheduler):
    channels, rng = draw(7)
    schedule = scheduler.schedule(channels.direct, weights=WEIGHTS, gamma_db=15)
    silent = np.zeros((schedule.active.size, 10))
    result = aggregate(channels.direct, schedule, WEIGHTS, silent, 0.0, rng)
    np.testing.assert_array_equal(result.mean, 0)


def test_nobody_cannot_be_received(scheduler):
    channels, rng = draw(8)
    schedule = scheduler.schedule(channels.direct, gamma_db=-60)
    with pytest.raises(ValueError, match="nobody"):
        transmit(channels.direct, schedule, np.empty((0, 3)), 0.0, rng)
