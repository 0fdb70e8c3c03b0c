"""Power limits and interference in the loop: what the service promises is what the air does."""

import json
from dataclasses import replace

import numpy as np
import pytest

from airsched_client.federated.__main__ import main
from airsched_client.federated.air import aggregate, digital
from airsched_client.federated.channels import Channels, Network, NetworkParameters
from airsched_client.federated.comparison import compare
from airsched_client.federated.experiment import Experiment
from airsched_client.federated.policies import zero_forcing

CELL = NetworkParameters(devices=8, antennas=4, power_spread_db=10.0, interference_db=10.0)
EXPERIMENT = Experiment(
    policies=("dual_pursuit", "matching_pursuit", "auto"),
    gammas_db=(10.0,),
    seeds=(0, 1),
    rounds=6,
    power=2.0,
    noise_variance=0.1,
    network=CELL,
    samples=120,
    epochs=1,
)


class Listening:
    """Keeps what is asked and answered."""

    def __init__(self, scheduler):
        self._scheduler = scheduler
        self.heard = []

    def with_options(self, **_):
        return self

    def schedule(self, channels, **options):
        schedule = self._scheduler.schedule(channels, **options)
        self.heard.append((channels, options, schedule))
        return schedule

    def schedule_frontier(self, channels, **options):
        return self._scheduler.schedule_frontier(channels, **options)


def test_the_measured_error_is_the_promised_one_and_no_limit_is_broken(scheduler, tmp_path):
    listening = Listening(scheduler)
    records = compare(EXPERIMENT, listening, tmp_path).records
    ratios = [r.measured_error / r.computation_error for r in records if r.active]
    assert len(ratios) >= 30
    standard_error = np.std(ratios) / np.sqrt(len(ratios))
    assert standard_error < 0.01
    assert np.mean(ratios) == pytest.approx(1.0, abs=4 * standard_error)
    for _, options, schedule in listening.heard:
        limits = options["power"]
        assert limits.max() == pytest.approx(2.0)
        assert limits.min() < 1.5
        assert (np.abs(schedule.transmit_scalars) ** 2 <= limits * (1 + 1e-9)).all()
        heard = np.vdot(schedule.receiver, options["noise_covariance"] @ schedule.receiver).real
        assert heard / schedule.power_factor == pytest.approx(schedule.computation_error)
        assert "noise_variance" not in options


def test_without_the_interference_in_the_air_the_error_would_be_another(scheduler):
    """So the test above can fail."""
    rng = np.random.default_rng(0)
    channels = Network(CELL, rng).fade(rng)
    power = channels.power_shares
    noise = np.eye(4) + channels.interference
    schedule = scheduler.schedule(
        channels.direct, max_error=1e4, power=power, noise_covariance=noise, algorithm="all_devices"
    )
    symbols = rng.standard_normal((schedule.active.size, 100_000))
    with_it, without = (
        aggregate(
            channels.direct, schedule, np.ones(8), symbols, 1.0, rng, interference=interference
        ).measured_error
        / schedule.computation_error
        for interference in (channels.interference, None)
    )
    assert with_it == pytest.approx(1.0, rel=0.03)
    assert without < 0.9


def test_a_surface_too(scheduler, tmp_path):
    network = replace(CELL, elements=6)
    experiment = replace(EXPERIMENT, policies=("dual_pursuit",), network=network, rounds=3)
    records = compare(experiment, scheduler, tmp_path).records
    ratios = [r.measured_error / r.computation_error for r in records if r.active]
    assert len(ratios) == 6
    assert ratios == pytest.approx(np.ones(6), rel=0.15)


def test_the_interference_is_that_of_fading_transmitters():
    """Against the covariance of many draws of the network's own Rician model."""
    parameters = replace(CELL, interference_azimuth=25.0, angular_deviation=(13.0, 13.0))
    network = Network(parameters, np.random.default_rng(1))
    rng = np.random.default_rng(2)
    factor = 10 ** (parameters.rician_factor_db / 10)
    draws = 40_000
    # Scattering: paths from angles around the azimuth, Gaussian with the deviation, as its
    # covariance says for small deviations.
    turns = 2 * np.pi * parameters.spacing * np.arange(4)[:, None]
    azimuth, deviation = np.radians(25.0), np.radians(13.0)
    sines = np.sin(azimuth) + np.cos(azimuth) * deviation * rng.standard_normal(draws)
    paths = np.exp(1j * turns * sines)
    scattered = paths @ paths.conj().T / draws
    direct = np.exp(1j * turns * np.sin(azimuth))
    expected = 10 * (factor * direct @ direct.conj().T + scattered) / (1 + factor)
    np.testing.assert_allclose(network.interference, expected, atol=0.1)


def test_limits_lie_within_the_spread_and_the_best_has_all():
    with_limits = Network(CELL, np.random.default_rng(3))
    without = Network(replace(CELL, power_spread_db=0.0), np.random.default_rng(3))
    np.testing.assert_array_equal(with_limits.positions, without.positions)
    assert without.power_shares is None
    assert with_limits.power_shares.max() == 1.0
    assert 0.1 <= with_limits.power_shares.min() < 0.9


def test_a_policy_of_ones_own_keeps_the_limits(scheduler, tmp_path):
    def strongest(channels, options):
        device = int(np.argmax(np.linalg.norm(channels.estimates, axis=0)))
        known = {name: options[name] for name in ("power", "noise_covariance", "weights")}
        return zero_forcing(channels.estimates, channels.estimates[:, device], [device], **known)

    experiment = replace(EXPERIMENT, policies=(strongest,), seeds=(0,), rounds=5)
    records = compare(experiment, scheduler, tmp_path).records
    ratios = [r.measured_error / r.computation_error for r in records]
    assert ratios == pytest.approx(np.ones(5), rel=0.15)


def test_digital_slots_are_as_long_as_limits_and_interference_make_them():
    channels = np.array([[1.0, 2.0], [0.0, 1.0j]])
    interference = np.array([[3.0, 0.0], [0.0, 0.0]])
    power = np.array([1.0, 0.5])
    updates = [np.ones(10), np.ones(10)]
    found = digital(channels, power, 2.0, np.ones(2), updates, 8, interference)
    rates = np.log2(1 + np.array([1.0 * (1 / 8), 0.5 * (4 / 8 + 1 / 2)]))
    assert found.channel_uses == np.ceil(np.sum(80 / rates))
    assert found.energy == pytest.approx(np.sum(power * 80 / rates))


@pytest.mark.parametrize("cell", [{"power_spread_db": 3.0}, {"interference_db": 0.0}])
def test_what_has_no_cell_says_so(cell):
    with pytest.raises(ValueError, match="leave out power_spread_db"):
        NetworkParameters(subcarriers=4, **cell)
    with pytest.raises(ValueError, match="leave out power_spread_db"):
        Experiment(channels="trace.npz", network=NetworkParameters(**cell))
    with pytest.raises(ValueError, match="at least 0"):
        NetworkParameters(power_spread_db=-1.0)


def test_without_a_cell_nothing_is_said_of_one():
    rng = np.random.default_rng(4)
    channels = Network(NetworkParameters(), rng).fade(rng)
    assert isinstance(channels, Channels)
    assert channels.power_shares is None
    assert channels.interference is None


def test_the_command(service_url, tmp_path):
    common = ["--url", service_url, "--output", str(tmp_path), "--policies", "dual_pursuit"]
    small = ["--rounds", "1", "--samples", "120", "--epochs", "1", "--devices", "6"]
    cell = ["--power-spread-db", "6", "--interference-db", "10", "--interference-azimuth", "30"]
    assert main([*common, *small, *cell]) == 0
    begun = json.loads((tmp_path / "experiment.json").read_text())
    assert begun["network"]["power_spread_db"] == 6.0
    assert begun["network"]["interference_db"] == 10.0
    assert begun["network"]["interference_azimuth"] == 30.0
    assert main([*common, "--resume"]) == 0
