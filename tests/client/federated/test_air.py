"""The air against the formulas, and against the error that the service reports."""

import tracemalloc

import numpy as np
import pytest

from airsched_client.federated.air import AirOptions, aggregate
from airsched_client.federated.channels import Network, NetworkParameters
from airsched_client.federated.policies import zero_forcing

DEVICES, ANTENNAS, SIZE = 12, 4, 100_000
WEIGHTS = np.linspace(0.4, 1.6, DEVICES)


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
    symbols /= np.sqrt(np.mean(symbols**2, axis=1, keepdims=True))
    found = aggregate(channels.direct, schedule, WEIGHTS, symbols, 0.03, rng)
    assert found.scale == pytest.approx(1)
    error = schedule.computation_error
    # 100,000 draws of a variable whose deviation is at most √2 times its mean: five of them.
    assert found.measured_error == pytest.approx(error, rel=5 * np.sqrt(2 / SIZE))
    if coordination == "zero_forcing":
        # All of it is noise, and the real part has half.
        off = found.mean * WEIGHTS[schedule.active].sum() - WEIGHTS[schedule.active] @ symbols
        assert np.mean(off**2) == pytest.approx(error / 2, rel=5 * np.sqrt(2 / SIZE))
        assert abs(np.mean(off)) < 5 * np.sqrt(error / SIZE)


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
    found = aggregate(channels.direct, schedule, WEIGHTS, updates, 0.0, rng)
    symbols = updates / found.scale
    sent = schedule.transmit_scalars[schedule.active, None] * symbols
    assert np.all(np.mean(np.abs(sent) ** 2, axis=1) <= 3.0 * (1 + 1e-9))
    assert np.mean(symbols**2, axis=1).max() == pytest.approx(1)
    assert found.energy == pytest.approx(np.sum(np.abs(sent) ** 2))
    assert found.channel_uses == 500


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


def test_wrong_estimates_leave_an_error_within_the_promised_one(scheduler):
    channels, rng = draw(6, csi_error=0.02)
    schedule = scheduler.schedule(
        channels.estimates, weights=WEIGHTS, max_error=1, csi_error=0.02, noise_variance=1e-9
    )
    updates = rng.standard_normal((schedule.active.size, 1000))
    result = aggregate(channels.direct, schedule, WEIGHTS, updates, 0.0, rng)
    gains = schedule.receiver.conj() @ channels.direct[:, schedule.active]
    scalars = schedule.transmit_scalars[schedule.active] / np.sqrt(schedule.power_factor)
    symbols = updates / result.scale
    missed = (gains * scalars - WEIGHTS[schedule.active]) @ symbols
    assert result.measured_error == pytest.approx(np.mean(np.abs(missed) ** 2))
    assert schedule.nominal_error < result.measured_error < schedule.computation_error


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
        aggregate(channels.direct, schedule, WEIGHTS, np.empty((0, 3)), 0.0, rng)


def made(seed=9, noise_variance=0.1):
    """Return channels, a schedule of everyone, and updates of unit power."""
    channels, rng = draw(seed)
    receiver = np.linalg.svd(channels.direct)[0][:, 0]
    schedule = zero_forcing(
        channels.direct,
        receiver,
        range(DEVICES),
        weights=WEIGHTS,
        noise_variance=noise_variance,
    )
    updates = rng.choice([-1.0, 1.0], (DEVICES, SIZE))
    return channels.direct, schedule, updates


def test_a_stream_is_received_as_a_matrix_is_by_the_formula():
    """Device by device, with the same noise: s θ̂ = cᴴ(Σ h_k ψ_k u_k + s ξ)/√η."""
    channels, schedule, updates = made()
    updates = updates[:, :1000] * np.linspace(1, 5, DEVICES)[:, None]
    found = aggregate(channels, schedule, WEIGHTS, iter(updates), 0.1, np.random.default_rng(4))
    noise = np.sqrt(0.1 / 2) * np.random.default_rng(4).standard_normal((2, ANTENNAS, 1000))
    received = (channels * schedule.transmit_scalars) @ (updates / 5) + noise[0] + 1j * noise[1]
    estimate = schedule.receiver.conj() @ received / np.sqrt(schedule.power_factor)
    np.testing.assert_allclose(found.mean, 5 * estimate.real / WEIGHTS.sum(), atol=1e-10)
    wanted = WEIGHTS @ updates / 5
    assert found.measured_error == pytest.approx(np.mean(np.abs(estimate - wanted) ** 2))


def test_the_memory_of_a_round_does_not_grow_with_the_devices():
    size, peaks = 400_000, []
    for devices in (4, 40):
        rng = np.random.default_rng(0)
        channels = rng.standard_normal((2, devices)) + 0j
        schedule = zero_forcing(channels, np.ones(2) + 0j, range(devices))
        updates = (np.full(size, 0.1, np.float32) for _ in range(devices))
        tracemalloc.start()
        aggregate(channels, schedule, np.ones(devices), updates, 0.1, rng)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # Vectors of D float64: two complex sums are four, the rest are a step's own.
    assert peaks[1] == pytest.approx(peaks[0], rel=0.02)
    assert peaks[1] < 10 * 8 * size


def test_phase_jitter_scatters_what_is_added():
    """Every gain φ_k becomes φ_k e^{jθ_k}: E|θ̂ − θ|² = E + 2(1 − e^{−s²/2}) Σ φ_k²."""
    channels, schedule, updates = made(noise_variance=1e-9)
    rng, errors = np.random.default_rng(5), []
    for _ in range(400):
        options = AirOptions(phase_jitter=0.3)
        found = aggregate(channels, schedule, WEIGHTS, updates[:, :200], 1e-9, rng, options=options)
        errors.append(found.measured_error)
    expected = 2 * (1 - np.exp(-(0.3**2) / 2)) * np.sum(WEIGHTS**2)
    assert np.mean(errors) == pytest.approx(expected, abs=4 * np.std(errors) / 20)


def test_power_imbalance_changes_the_weights_for_good():
    channels, schedule, updates = made(noise_variance=1e-12)
    options = AirOptions(power_imbalance_db=3.0)
    amplitudes = options.amplitudes(DEVICES, np.random.default_rng(6))
    many = options.amplitudes(100_000, np.random.default_rng(7))
    assert np.std(20 * np.log10(many)) == pytest.approx(3.0, rel=0.02)
    found = aggregate(
        channels,
        schedule,
        WEIGHTS,
        updates,
        0.0,
        np.random.default_rng(0),
        options=options,
        amplitudes=amplitudes,
    )
    expected = (WEIGHTS * amplitudes) @ updates / WEIGHTS.sum()
    np.testing.assert_allclose(found.mean, expected, atol=1e-10)


def test_both_quadratures_halve_the_uses_and_double_the_noise():
    channels, schedule, updates = made()
    size = SIZE - 1
    one, two = (
        aggregate(
            channels,
            schedule,
            WEIGHTS,
            updates[:, :size],
            0.1,
            np.random.default_rng(8),
            options=AirOptions(quadratures=quadratures),
        )
        for quadratures in (False, True)
    )
    assert (one.channel_uses, two.channel_uses) == (size, SIZE // 2)
    wanted = np.average(updates[:, :size], axis=0, weights=WEIGHTS)
    noise = [np.mean((found.mean - wanted) ** 2) for found in (one, two)]
    assert noise[1] / noise[0] == pytest.approx(2, rel=0.03)
    # A symbol of two entries has twice the power of one, and both are sent at the limit.
    assert two.scale**2 == pytest.approx(2 * one.scale**2, rel=1e-4)
    for found in (one, two):
        assert found.measured_error == pytest.approx(schedule.computation_error, rel=0.03)


@pytest.mark.parametrize(
    "wrong", [{"phase_jitter": -1.0}, {"power_imbalance_db": -1.0}, {"digital_bits": 1}]
)
def test_impossible_options_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        AirOptions(**wrong)
