"""Flower with the wrapper does what the project's own loop does, to rounding."""

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs Flower: `make check-flower` runs it")

from flwr.serverapp.strategy import FedAvg

from airsched_client.federated.channels import NetworkParameters
from airsched_client.federated.comparison import compare
from airsched_client.federated.experiment import Experiment
from airsched_client.federated.fading import NetworkFading
from airsched_client.federated.streams import request_seed
from airsched_client.flower import NetworkSource, OverTheAirFedAvg, ReportedSource, TraceSource
from tests.client.flower import digits
from tests.client.flower.grid import FakeGrid

ROUNDS = 3
TRACE = "examples/sionna/umi.npz"
EVERYONE = {"fraction_evaluate": 0.0, "min_available_nodes": digits.DEVICES}


def run(strategy, seed, first=7):
    """Run the digits on a fake grid; return what every round was like."""
    grid = FakeGrid(digits.app, digits.DEVICES, {"seed": seed}, first=first)
    result = strategy.start(grid, digits.initial(seed), ROUNDS, evaluate_fn=digits.evaluate)
    found = result.evaluate_metrics_serverapp
    told = result.train_metrics_clientapp
    return [{**told.get(number, {}), **found[number]} for number in range(1, ROUNDS + 1)]


def over_the_air(scheduler, policy, seed, gamma_db=10.0, source=None):
    schedule = {"seed": request_seed(seed, 0)}
    if policy != "auto":
        schedule |= {"algorithm": policy, "gamma_db": gamma_db}
    source = source or NetworkSource(NetworkParameters(digits.DEVICES, digits.ANTENNAS), seed)
    return OverTheAirFedAvg(scheduler, source, schedule=schedule, seed=seed, **EVERYONE)


@pytest.mark.parametrize(
    ("policy", "gamma_db", "trace", "subcarriers"),
    [
        ("dual_pursuit", 10.0, "", 1),
        ("auto", None, "", 1),
        ("matching_pursuit", -10.0, TRACE, 1),
        ("dual_pursuit", 10.0, "", 4),
        ("intersection", 10.0, "band.npz", 4),
    ],
)
def test_the_strategy_gives_the_results_of_the_loop(
    scheduler, policy, gamma_db, trace, subcarriers, tmp_path
):
    seed = 3
    network = NetworkParameters(digits.DEVICES, digits.ANTENNAS, subcarriers=subcarriers)
    if trace == "band.npz":
        trace = str(tmp_path / trace)
        recorded = NetworkFading(network, 8)
        np.savez(trace, channels=[recorded.channels(at).direct for at in range(12)])
    source = TraceSource(trace, start=seed * ROUNDS) if trace else NetworkSource(network, seed)
    rounds = run(over_the_air(scheduler, policy, seed, gamma_db, source), seed)
    records = compare(
        Experiment(
            policies=(policy,),
            gammas_db=(gamma_db or 0.0,),
            seeds=(seed,),
            rounds=ROUNDS,
            network=network,
            channels=trace or None,
        ),
        scheduler,
    ).records
    assert len(rounds) == len(records) == ROUNDS
    for ours, record in zip(rounds, records, strict=True):
        assert ours["air-schedule"] == list(record.active)
        # FedAvg averages equal models, which rounds once more than the loop.
        for name in ("computation_error", "measured_error"):
            found = ours[f"air-{name.replace('_', '-')}"]
            assert found == pytest.approx(getattr(record, name), rel=1e-9), name
        assert ours["accuracy"] == pytest.approx(record.accuracy, rel=1e-9)
        assert ours["loss"] == pytest.approx(record.loss, rel=1e-9)


def test_plain_fedavg_gives_the_results_of_perfect(scheduler):
    rounds = run(FedAvg(**EVERYONE), seed=1)
    records = compare(
        Experiment(policies=("perfect",), seeds=(1,), rounds=ROUNDS), scheduler
    ).records
    # Another order of summation.
    expected = [record.loss for record in records]
    assert [each["loss"] for each in rounds] == pytest.approx(expected, rel=1e-9)


def test_two_runs_are_identical_though_node_ids_differ(scheduler):
    one, other = (
        run(over_the_air(scheduler, "matching_pursuit", 2), 2, first) for first in (7, 500)
    )
    assert one == other


def test_nodes_can_report_their_channels(scheduler):
    reported = ReportedSource(digits.ANTENNAS)
    rounds = run(over_the_air(scheduler, "dual_pursuit", 0, source=reported), 0)
    assert all(each["air-schedule"] for each in rounds)
    # A mean over 2410 symbols.
    for each in rounds:
        assert each["air-measured-error"] == pytest.approx(each["air-computation-error"], rel=0.15)
