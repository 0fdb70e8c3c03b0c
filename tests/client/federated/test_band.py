"""Learning over a band: the air on every subcarrier, and the loop around it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from airsched_client.federated.__main__ import main
from airsched_client.federated.air import aggregate_band
from airsched_client.federated.channels import Network, NetworkParameters
from airsched_client.federated.checkpoint import read_records
from airsched_client.federated.comparison import compare
from airsched_client.federated.experiment import Experiment
from airsched_client.federated.fading import NetworkFading
from airsched_client.federated.traces import Trace

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


@pytest.mark.parametrize("kind", ["trace", "array", "function"])
def test_the_networks_own_band_as_a_trace_gives_its_results(scheduler, tmp_path, kind):
    """Recorded, the channels must lead to the same schedules, sums and models."""
    fading = [NetworkFading(BAND, seed) for seed in (0, 1)]
    recorded = np.array([[each.channels(at).direct for at in range(3)] for each in fading])
    np.savez(tmp_path / "band.npz", channels=recorded.reshape(6, 4, 3, 6))
    source = {
        "trace": tmp_path / "band.npz",
        "array": recorded,
        "function": lambda number, rng: recorded[0, number],
    }[kind]
    seeds = (0,) if kind == "function" else (0, 1)
    given = replace(SMALL, policies=("dual_pursuit",), seeds=seeds)
    expected = compare(given, scheduler).records
    # What a trace says replaces the network, which is then as wide as by default.
    played = compare(replace(given, network=NetworkParameters()), scheduler, channels=source)
    assert played.records == expected
    assert any(record.active for record in expected)


@pytest.mark.parametrize(("policy", "words"), [("auto", "no frontier"), ("digital", "no band")])
def test_policies_that_take_no_band_refuse_one_that_is_played(scheduler, policy, words):
    band = NetworkFading(BAND).channels(0).direct
    experiment = Experiment(policies=(policy,), rounds=1, samples=120)
    with pytest.raises(ValueError, match=words):
        compare(experiment, scheduler, channels=lambda number, rng: band)


def test_average_gains_are_those_of_the_network():
    """E‖h_k‖² is the same on every subcarrier, so its mean over a long trace is the network's."""
    fading = NetworkFading(BAND)
    recorded = np.array([fading.channels(at).direct for at in range(2000)])
    trace = Trace(Path("band"), recorded)
    np.testing.assert_allclose(trace.average_gains(), fading.average_gains(), rtol=0.05)


@pytest.mark.parametrize("width", [[], ["--subcarriers", "4"]])
def test_the_command_plays_a_band(service_url, tmp_path, capsys, width):
    fading = NetworkFading(BAND)
    path = tmp_path / "band.npz"
    np.savez(path, channels=[fading.channels(at).direct for at in range(2)])
    given = ["--url", service_url, "--channels", str(path), "--task", "regression"]
    given += ["--policies", "perfect", "intersection", "--gamma-db", "20", "--rounds", "2"]
    assert main([*given, *width, "--output", str(tmp_path / "results")]) == 0
    assert any(record.active for record in read_records(tmp_path / "results")[2:])
    assert main([*given, "--subcarriers", "3", "--output", str(tmp_path / "others")]) == 1
    assert "has 4 subcarriers: leave out" in " ".join(capsys.readouterr().out.split())


def test_the_command(service_url, tmp_path):
    arguments = f"--url {service_url} --rounds 1 --samples 120 --epochs 1 --subcarriers 3 --taps 2"
    chosen = ["--policies", "every", "--output", str(tmp_path), "--devices", "5"]
    assert main([*arguments.split(), *chosen]) == 0
    table = (tmp_path / "summary.md").read_text()
    for name in ("dual_pursuit", "matching_pursuit", "intersection"):
        assert name in table
