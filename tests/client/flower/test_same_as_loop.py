"""Flower with the wrapper does what the project's own loop does, to rounding."""

import json
import tempfile
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs Flower: `make check-flower` runs it")

from flwr.app import Context, RecordDict
from threadpoolctl import threadpool_limits

from airsched_client.federated.channels import NetworkParameters
from airsched_client.federated.comparison import compare
from airsched_client.federated.experiment import Experiment
from examples.flower.engine import running_engine
from examples.flower.overtheair import client_app, server_app
from tests.client.flower.grid import FakeGrid

DEVICES, ROUNDS = 20, 3
CONFIG = {
    "num-server-rounds": ROUNDS,
    "gamma-db": 10.0,
    "devices": DEVICES,
    "antennas": 6,
    "trace": "",
    "reported": False,
}
TRACE = "examples/sionna/umi.npz"


def run_app(scheduler_url, output, policies, **config):
    """Run the example app on a fake grid; return its lines."""
    config = {**CONFIG, "policies": policies, "scheduler-url": scheduler_url, **config}
    config["output"] = str(output)
    grid = FakeGrid(client_app.app, DEVICES, config, first=config.pop("first", 7))
    server_app.app(grid, Context(1, 0, {}, RecordDict(), config))
    return [json.loads(line) for line in output.read_text().splitlines()]


def assert_same(lines, records):
    assert len(lines) == len(records) == ROUNDS
    for line, record in zip(lines, records, strict=True):
        assert line["active"] == list(record.active)
        # FedAvg averages equal models, which rounds once more than the loop.
        for name in ("computation_error", "measured_error", "accuracy", "loss"):
            assert line[name] == pytest.approx(getattr(record, name), rel=1e-9), name


@pytest.mark.parametrize(
    ("policy", "gamma_db", "trace"),
    [("dual_pursuit", 10.0, ""), ("auto", None, ""), ("matching_pursuit", -10.0, TRACE)],
)
def test_the_strategy_gives_the_results_of_the_loop(
    service_url, scheduler, tmp_path, policy, gamma_db, trace
):
    seed = 3
    lines = run_app(
        service_url,
        tmp_path / "flower.jsonl",
        policy,
        seed=seed,
        trace=trace,
        **{"gamma-db": gamma_db or 0.0},
    )
    records = compare(
        Experiment(
            policies=(policy,),
            gammas_db=(gamma_db or 0.0,),
            seeds=(seed,),
            rounds=ROUNDS,
            network=NetworkParameters(DEVICES, 6),
            channels=trace or None,
        ),
        scheduler,
        tmp_path / "loop",
    ).records
    assert_same(lines, records)


@pytest.mark.slow
def test_the_simulation_engine_gives_the_results_of_the_loop(
    service_url, scheduler, tmp_path, monkeypatch
):
    """On Ray, as `flwr run` starts it, although a cluster that has ended left its address."""
    output = tmp_path / "flower.jsonl"
    # Not in `tmp_path`: the paths of Ray's sockets may have 107 characters only.
    with tempfile.TemporaryDirectory(prefix="ray-") as folder:
        monkeypatch.setenv("RAY_TMPDIR", folder)
        left = Path(folder) / "ray" / "ray_current_cluster"
        left.parent.mkdir()
        left.write_text("127.0.0.1:1")
        run_engine(service_url, output)
    experiment = Experiment(policies=("dual_pursuit",), seeds=(1,), rounds=ROUNDS)
    # As the engine: with another number of threads, OpenBLAS adds in another order.
    with threadpool_limits(1):
        records = compare(experiment, scheduler, tmp_path / "loop").records
    assert_same([json.loads(line) for line in output.read_text().splitlines()], records)


def run_engine(service_url, output):
    with running_engine() as engine:
        engine.run(
            DEVICES,
            scheduler_url=service_url,
            policies="dual_pursuit",
            num_server_rounds=ROUNDS,
            seed=1,
            output=str(output),
        )


def test_plain_fedavg_gives_the_results_of_perfect(service_url, scheduler, tmp_path):
    lines = run_app(service_url, tmp_path / "flower.jsonl", "fedavg", seed=1)
    records = compare(
        Experiment(policies=("perfect",), seeds=(1,), rounds=ROUNDS), scheduler, tmp_path / "loop"
    ).records
    # Another order of summation.
    np.testing.assert_allclose(
        [line["loss"] for line in lines], [record.loss for record in records], rtol=1e-9
    )


def test_two_runs_are_identical_though_node_ids_differ(service_url, tmp_path):
    one = run_app(service_url, tmp_path / "one", "dual_pursuit matching_pursuit", seed=2)
    other = run_app(
        service_url, tmp_path / "other", "dual_pursuit matching_pursuit", seed=2, first=500
    )
    assert one == other


def test_nodes_can_report_their_channels(service_url, tmp_path):
    lines = run_app(service_url, tmp_path / "file", "dual_pursuit", seed=0, reported=True)
    assert all(line["active"] for line in lines)
    # A mean over 2410 symbols.
    for line in lines:
        assert line["measured_error"] == pytest.approx(line["computation_error"], rel=0.15)
