"""Learning over a band: the air on every subcarrier, and the loop around it."""

import numpy as np
import pytest

from airsched_client import SchedulerClient
from airsched_client.federated.__main__ import main
from airsched_client.federated.air import aggregate_band
from airsched_client.federated.channels import Network, NetworkParameters
from airsched_client.federated.comparison import compare
from airsched_client.federated.experiment import Experiment

BAND = NetworkParameters(devices=6, antennas=3, subcarriers=4, taps=2)
SMALL = Experiment(
    policies=("dual_pursuit", "intersection"),
    gammas_db=(12.0,),
    rounds=3,
    noise_variance=0.1,
    network=BAND,
    samples=120,
    epochs=1,
)


@pytest.fixture(scope="module")
def scheduler(service_url):
    with SchedulerClient(service_url) as scheduler:
        yield scheduler


@pytest.mark.parametrize("coordination", ["zero_forcing", "mmse"])
def test_measured_errors_are_the_services(scheduler, coordination):
    rng = np.random.default_rng(1)
    channels = Network(BAND, rng).fade(rng).direct
    weights = np.linspace(0.5, 1.5, 6)
    schedule = scheduler.schedule_wideband(
        channels, weights=weights, gamma_db=12, noise_variance=0.03, coordination=coordination
    )
    size = 200_000
    updates = {k: rng.standard_normal(size) for k in schedule.active.tolist()}
    received = aggregate_band(channels, schedule.subcarriers(), weights, updates, 0.03, rng)
    assert received.measured_error == pytest.approx(schedule.computation_error, rel=0.05)
    assert received.channel_uses == size // 4
    wanted = sum(weights[k] * update for k, update in updates.items())
    wanted /= weights[schedule.active].sum()
    # On subcarrier f are the entries f, f + F, …, and half of its noise is in the real part.
    for f, error in enumerate(schedule.computation_errors):
        missed = np.mean((received.mean - wanted)[f::4] ** 2) * weights[schedule.active].sum() ** 2
        if coordination == "zero_forcing":
            assert missed == pytest.approx(error / 2, rel=0.05)
        assert missed <= error


def test_an_entry_without_anybody_stays(scheduler):
    rng = np.random.default_rng(2)
    channels = Network(BAND, rng).fade(rng).direct
    schedules = scheduler.schedule_batch(channels, gamma_db=12, algorithm="dual_pursuit")
    nobody = scheduler.schedule(channels[1], gamma_db=-90)
    updates = {k: np.ones(10) for k in range(6)}
    sent = (schedules[0], nobody, *schedules[2:])
    received = aggregate_band(channels, sent, np.ones(6), updates, 1e-12, rng)
    np.testing.assert_allclose(received.mean, [1, 0, 1, 1, 1, 0, 1, 1, 1, 0], atol=1e-4)
    assert received.channel_uses == 3


def test_the_loop_learns_over_a_band(scheduler):
    for record in compare(SMALL, scheduler).records:
        assert record.active
        assert record.measured_error == pytest.approx(record.computation_error, rel=0.2)
        assert record.accuracy is not None


def test_a_policy_may_have_a_set_for_every_subcarrier(scheduler):
    def own_sets(channels, options):
        return scheduler.schedule_batch(
            channels.estimates, gamma_db=3.0, algorithm="dual_pursuit", **options
        )

    experiment = Experiment(
        policies=(own_sets,), rounds=2, network=BAND, samples=120, epochs=1, noise_variance=0.01
    )
    for record in compare(experiment, None).records:
        assert record.policy == "own_sets"
        assert record.measured_error == pytest.approx(record.computation_error, rel=0.3)


@pytest.mark.parametrize("policy", ["auto", "digital"])
def test_policies_that_take_no_band(policy):
    with pytest.raises(ValueError, match="takes no band"):
        Experiment(policies=(policy,), network=BAND)


def test_the_command(service_url, tmp_path):
    arguments = f"--url {service_url} --rounds 1 --samples 120 --epochs 1 --subcarriers 3 --taps 2"
    chosen = ["--policies", "every", "--output", str(tmp_path), "--devices", "5"]
    assert main([*arguments.split(), *chosen]) == 0
    table = (tmp_path / "summary.md").read_text()
    for name in ("dual_pursuit", "matching_pursuit", "intersection"):
        assert name in table
