"""The network against its formulas: geometry, moments, and the paper's own curve."""

import numpy as np
import pytest

from airsched_client.federated.band import tap_powers
from airsched_client.federated.channels import Network, NetworkParameters
from airsched_client.federated.partition import (
    PartitionParameters,
    aggregation_weights,
    data_sizes,
)
from app.scheduling import Problem, solve
from lab.paper import curves


def network(seed=0, **parameters):
    return Network(NetworkParameters(**parameters), np.random.default_rng(seed))


def fades(built, rounds, seed=1):
    rng = np.random.default_rng(seed)
    return [built.fade(rng) for _ in range(rounds)]


def analytic(position, deviation, reference, antennas):
    """Mean and covariance of one device's channel, entry by entry from the paper's formulas."""
    distance, azimuth = np.hypot(*position), np.arctan2(position[1], position[0])
    loss, factor = (distance / reference) ** -3, 10**0.3
    mean = np.empty(antennas, complex)
    covariance = np.empty((antennas, antennas), complex)
    for n in range(antennas):
        mean[n] = np.exp(1j * np.pi * np.sin(azimuth)) ** n
        for m in range(antennas):
            spread = np.exp(-2 * deviation**2 * (np.pi * (n - m) * 0.5 * np.cos(azimuth)) ** 2)
            covariance[n, m] = np.exp(1j * np.pi * np.sin(azimuth)) ** (n - m) * spread
    return (
        np.sqrt(loss * factor / (1 + factor)) * mean,
        loss / (1 + factor) * covariance,
    )


def test_devices_are_uniform_in_the_area_of_the_ring():
    built = network(devices=40_000)
    distances = np.hypot(*built.positions.T)
    assert distances.min() >= 10
    assert distances.max() <= 100
    # A device is within l with probability (l² − R_in²)/(R_out² − R_in²).
    for radius in (20, 40, 60, 80, 95):
        expected = (radius**2 - 10**2) / (100**2 - 10**2)
        assert np.mean(distances <= radius) == pytest.approx(expected, abs=0.01)
    azimuths = np.arctan2(built.positions[:, 1], built.positions[:, 0])
    quadrants = np.histogram(azimuths, np.linspace(-np.pi, np.pi, 5))[0] / azimuths.size
    np.testing.assert_allclose(quadrants, 0.25, atol=0.01)
    degrees = np.degrees(built.angular_deviations)
    assert degrees.min() >= 12
    assert degrees.max() <= 15
    assert degrees.mean() == pytest.approx(13.5, abs=0.05)


def test_the_closest_device_has_no_path_loss():
    built = network()
    distances = np.hypot(*built.positions.T)
    mean, covariance = built.mean_and_covariance()
    power = (np.abs(mean) ** 2).sum(axis=0) + np.trace(covariance, axis1=1, axis2=2).real
    # E‖h_k‖² = N·PL(l_k), whatever the Rician factor.
    np.testing.assert_allclose(power, 6 * (distances / distances.min()) ** -3)
    assert power.max() == pytest.approx(6)
    np.testing.assert_allclose(built.average_gains(), power)


def test_moments_of_the_fading_are_the_papers():
    built = network(seed=3, devices=5, antennas=4)
    rounds = 40_000
    drawn = np.array([channels.direct for channels in fades(built, rounds)])
    for device in range(5):
        mean, covariance = analytic(
            built.positions[device], built.angular_deviations[device], built.reference_distance, 4
        )
        samples = drawn[:, :, device]
        scale = covariance[0, 0].real
        np.testing.assert_allclose(samples.mean(axis=0), mean, atol=5 * np.sqrt(scale / rounds))
        centred = samples - mean
        empirical = centred.T @ centred.conj() / rounds
        np.testing.assert_allclose(empirical, covariance, atol=6 * scale / np.sqrt(rounds))
        # Circular: no correlation with its own conjugate.
        pseudo = centred.T @ centred / rounds
        np.testing.assert_allclose(pseudo, 0, atol=8 * scale / np.sqrt(rounds))
        np.testing.assert_allclose(built.mean_and_covariance()[0][:, device], mean)
        np.testing.assert_allclose(built.mean_and_covariance()[1][device], covariance, atol=1e-7)


def test_devices_and_rounds_fade_independently():
    built = network(seed=3, devices=2, antennas=2)
    mean = built.mean_and_covariance()[0]
    drawn = np.array([channels.direct for channels in fades(built, 20_000)]) - mean
    scales = np.sqrt((np.abs(drawn) ** 2).mean(axis=(0, 1)))
    across = (drawn[:, :, 0] * drawn[:, :, 1].conj()).mean(axis=0) / scales.prod()
    over_time = (drawn[1:] * drawn[:-1].conj()).mean(axis=0) / scales**2
    np.testing.assert_allclose(across, 0, atol=0.05)
    np.testing.assert_allclose(over_time, 0, atol=0.05)


def test_same_seed_same_network_and_fading():
    options = {"elements": 8, "csi_error": 0.1}
    one, other = network(7, **options), network(7, **options)
    np.testing.assert_array_equal(one.positions, other.positions)
    for first, second in zip(fades(one, 3), fades(other, 3), strict=True):
        for name in ("direct", "estimates", "irs_to_server", "devices_to_irs"):
            np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    assert not np.array_equal(one.positions, network(8, **options).positions)
    first, second = fades(one, 2)
    assert not np.array_equal(first.direct, second.direct)


def test_estimates_are_within_the_bound_and_reach_it():
    built = network(csi_error=0.05, devices=30)
    errors = np.concatenate(
        [np.linalg.norm(c.direct - c.estimates, axis=0) for c in fades(built, 200)]
    )
    assert errors.max() <= 0.05
    assert errors.max() > 0.0499
    # Uniform in a ball of 2N = 12 dimensions: half of the errors are within 2^(−1/12) of it.
    assert np.mean(errors <= 0.05 * 2 ** (-1 / 12)) == pytest.approx(0.5, abs=0.03)
    exact = network().fade(np.random.default_rng(0))
    np.testing.assert_array_equal(exact.direct, exact.estimates)


def test_the_bound_keeps_everyone_served_over_the_true_channels():
    built = network(csi_error=0.02)
    for channels in fades(built, 20):
        found = solve(Problem(channels.estimates, np.ones(20), 10.0, csi_error=0.02))
        gains = np.abs(channels.direct[:, found.active].conj().T @ found.receiver)
        assert np.all(10.0 * gains**2 >= 1 - 1e-9)


def test_surface_links_have_their_own_path_loss_and_directions():
    built = network(seed=2, devices=3, antennas=3, elements=4, irs_distance=60.0, irs_azimuth=30.0)
    rounds = fades(built, 20_000)
    surface = 60 * np.array([np.cos(np.pi / 6), np.sin(np.pi / 6)])
    factor, reference = 10**0.3, built.reference_distance
    to_server = np.array([channels.irs_to_server for channels in rounds])
    assert to_server.shape[1:] == (3, 4)
    loss = (60 / reference) ** -2.2
    power = np.mean(np.abs(to_server) ** 2, axis=0)
    np.testing.assert_allclose(power, loss, rtol=0.05)
    phase = np.pi * np.sin(np.pi / 6)
    mean = np.exp(1j * phase * np.add.outer(np.arange(3), np.arange(4)))
    expected = np.sqrt(loss * factor / (1 + factor)) * mean
    np.testing.assert_allclose(to_server.mean(axis=0), expected, atol=0.05 * np.sqrt(loss))

    to_surface = np.array([channels.devices_to_irs for channels in rounds])
    distances = np.hypot(*(built.positions - surface).T)
    losses = np.maximum(distances / reference, 1) ** -2.2
    power = np.mean(np.abs(to_surface) ** 2, axis=0)
    np.testing.assert_allclose(power, np.tile(losses, (4, 1)), rtol=0.05)


def test_tuned_channel():
    channels = network(elements=5).fade(np.random.default_rng(0))
    phases = np.exp(1j * np.arange(5))
    tuned = channels.tuned(phases)
    for device in range(20):
        expected = (
            channels.direct[:, device]
            + channels.irs_to_server @ np.diag(channels.devices_to_irs[:, device]) @ phases
        )
        np.testing.assert_allclose(tuned[:, device], expected)
    with pytest.raises(ValueError, match="elements"):
        network().fade(np.random.default_rng(0)).tuned(phases)


@pytest.mark.parametrize(
    "wrong",
    [
        {"devices": 0},
        {"elements": -1},
        {"inner_radius": 200.0},
        {"inner_radius": 0.0},
        {"angular_deviation": (5.0, 1.0)},
        {"csi_error": -0.1},
        {"irs_distance": 0.0},
    ],
)
def test_impossible_networks_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        NetworkParameters(**wrong)


def test_the_papers_curve_appears():
    # The paper does not give the scale of φ: its curve lies 6.5 dB to the left of that for weights
    # of mean one. It averages 200 channels, with a standard error of about 0.2 of a device.
    curve = curves("active_vs_gamma_network")["matching_pursuit"]
    problems = []
    for seed in range(2000):
        rng = np.random.default_rng([5, seed])
        channels = Network(NetworkParameters(), rng).fade(rng).direct
        sizes = data_sizes(50_000, 20, PartitionParameters(), rng)
        problems.append((channels, aggregation_weights(sizes)))
    for gamma_db, expected in curve.items():
        gamma = 10 ** ((gamma_db + 6.5) / 10)
        found = [
            solve(Problem(channels, weights, gamma)).active.size for channels, weights in problems
        ]
        assert np.mean(found) == pytest.approx(expected, abs=0.6), gamma_db


def test_a_band_has_the_statistics_of_the_network_on_every_subcarrier():
    built = network(devices=3, antennas=2, subcarriers=4, taps=3)
    bands = np.stack([channels.direct for channels in fades(built, 20_000)])
    assert bands.shape == (20_000, 4, 2, 3)
    mean, covariance = built.mean_and_covariance()
    for f in range(4):
        centred = bands[:, f] - mean
        assert np.abs(centred.mean(axis=0)).max() < 0.03
        found = np.einsum("rnk,rmk->knm", centred, centred.conj()) / len(bands)
        assert np.abs(found - covariance).max() < 0.03


def test_one_tap_is_a_flat_band_and_more_taps_decorrelate_it():
    (channels,) = fades(network(devices=2, antennas=2, subcarriers=8, taps=1), 1)
    flat = channels.direct
    np.testing.assert_allclose(flat, np.broadcast_to(flat[0], flat.shape))
    taps = tap_powers(4)
    assert taps.sum() == pytest.approx(1)
    built = network(devices=2, antennas=2, subcarriers=8, taps=4)
    mean, covariance = built.mean_and_covariance()
    bands = np.stack([channels.direct for channels in fades(built, 20_000)]) - mean
    apart = np.mean(bands[:, 0, 0, 0].conj() * bands[:, 3, 0, 0]) / covariance[0, 0, 0].real
    # The correlation over frequency is the Fourier transform of the taps' powers.
    expected = np.sum(taps * np.exp(-2j * np.pi * 3 * np.arange(4) / 8))
    assert apart == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("wrong", [{"elements": 2}, {"csi_error": 0.1}, {"taps": 0}])
def test_what_a_band_does_not_have(wrong):
    with pytest.raises(ValueError, match=r"band|taps"):
        NetworkParameters(subcarriers=2, **wrong)
