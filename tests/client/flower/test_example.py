"""The example: torch nodes in this process, and the same on Ray."""

import json
import tempfile
from pathlib import Path

import pytest

pytest.importorskip("flwr", reason="needs Flower: `make check-flower` runs it")
pytest.importorskip("flwr_datasets", reason="needs torch: `make test-flower` runs it")
pytest.importorskip("torch", reason="needs torch: `make test-flower` runs it")

import torch
from flwr.app import Context, RecordDict

from examples.flower import compare
from examples.flower.engine import running_engine
from examples.flower.in_process import InProcessGrid
from examples.flower.overtheair import client_app, server_app
from examples.flower.overtheair.task import Net, digits, load_partition, train

SHORT = {"num-server-rounds": 2, "policy": "dual_pursuit", "strategy": "FedAdam"}


def run(service_url, output, **config):
    """Run the app in process; return its lines."""
    config = {**compare.defaults(), **SHORT, **config, "scheduler-url": service_url}
    config["output"] = str(output)
    grid = InProcessGrid(client_app.app, config["devices"], config)
    server_app.app(grid, Context(1, 0, {}, RecordDict(), config))
    return [json.loads(line) for line in output.read_text().splitlines()]


def test_every_sample_has_one_node_and_classes_are_uneven():
    parts = [load_partition(k, 20, 0.5, 0)["label"] for k in range(20)]
    assert sum(map(len, parts)) == len(digits()["train"])
    counts = torch.stack([torch.bincount(part, minlength=10) for part in parts])
    assert torch.equal(counts.sum(0), torch.bincount(digits()["train"][:]["label"]))
    # With 144 samples per class, independent draws leave 0.95^144 = 0.0006 of the counts empty.
    assert (counts == 0).double().mean() > 0.05


def test_the_proximal_term_keeps_a_node_near_the_global_model():
    def moved(mu):
        torch.manual_seed(0)
        net = Net()
        start = [p.detach().clone() for p in net.parameters()]
        train(net, load_partition(0, 20, 0.5, 0), epochs=3, batch_size=16, rate=0.02, mu=mu)
        pairs = zip(net.parameters(), start, strict=True)
        return sum(float(((p.detach() - s) ** 2).sum()) for p, s in pairs)

    assert moved(5.0) < 0.5 * moved(0.0)


def test_it_learns_the_same_twice(service_url, tmp_path):
    lines = run(service_url, tmp_path / "one.jsonl", **{"num-server-rounds": 4})
    assert lines == run(service_url, tmp_path / "other.jsonl", **{"num-server-rounds": 4})
    assert lines[-1]["accuracy"] > 0.3
    assert all(0 < len(line["active"]) < 20 for line in lines)


def test_without_a_policy_it_is_the_strategy_alone(service_url, tmp_path):
    lines = run(service_url, tmp_path / "alone.jsonl", policy="none")
    assert [line["active"] for line in lines] == [list(range(20))] * 2
    assert {line["policy"] for line in lines} == {"FedAdam"}


@pytest.mark.slow
def test_the_simulation_engine_gives_the_same(service_url, tmp_path, monkeypatch):
    """On Ray, as `flwr run` starts it, although a cluster that has ended left its address."""
    output = tmp_path / "ray.jsonl"
    # Not in `tmp_path`: the paths of Ray's sockets may have 107 characters only.
    with tempfile.TemporaryDirectory(prefix="ray-") as folder:
        monkeypatch.setenv("RAY_TMPDIR", folder)
        left = Path(folder) / "ray" / "ray_current_cluster"
        left.parent.mkdir()
        left.write_text("127.0.0.1:1")
        with running_engine() as engine:
            engine.run(20, {**SHORT, "scheduler-url": service_url, "output": str(output)})
    found = [json.loads(line) for line in output.read_text().splitlines()]
    for ours, theirs in zip(run(service_url, tmp_path / "here.jsonl"), found, strict=True):
        assert ours["active"] == theirs["active"]
        # Another number of threads may add in another order.
        assert ours["loss"] == pytest.approx(theirs["loss"], rel=1e-3)
