"""Every figure at a tiny scale."""

import io
import json
from contextlib import nullcontext

import numpy as np
import pytest
from rich.console import Console

from experiments import learning, report
from experiments.__main__ import main
from experiments.digest import revision
from experiments.figures import (
    FIGURES,
    active_vs_delta,
    active_vs_gamma_iid,
    active_vs_gamma_network,
    active_vs_gamma_umi,
    overview,
    runtime_vs_gamma_iid,
    runtime_vs_size,
)
from experiments.measurements import count_active
from experiments.partial import PartialRunner
from experiments.runner import Runner
from experiments.selection import SEED
from experiments.series import DC, DC_CLARABEL, DUAL_PURSUIT, MATCHING_PURSUIT, SDR
from lab import paper
from tests.client.federated.test_tasks import batches
from tests.experiments.test_runner import plain_counts


@pytest.fixture
def runner(tmp_path):
    return Runner(tmp_path / "cache", jobs=1, console=Console(file=io.StringIO()))


def written(figure, measured, folder):
    """Return RESULTS.md with one figure in it."""
    report.keep(figure, measured, "quick", folder)
    assert (folder / "results" / f"{figure.name}.png").stat().st_size > 10_000
    kept = report.read(figure, folder)
    assert (kept.setting, kept.smaller) == (measured.setting, measured.smaller)
    for found, given in ((kept.curves, measured.curves), (kept.paired, measured.paired)):
        assert found.keys() == given.keys()
        for name, curve in found.items():
            assert curve.keys() == given[name].keys()
            for x, point in curve.items():
                assert point.value == pytest.approx(given[name][x].value, rel=1e-4)
                assert point.error == pytest.approx(given[name][x].error, rel=1e-2, nan_ok=True)
                assert point.count == given[name][x].count
    return report.write([figure], folder).read_text()


def values(curve):
    return [point.value for _, point in sorted(curve.items())]


def test_active_vs_delta_is_what_a_plain_loop_of_svds_gives(runner, tmp_path, monkeypatch):
    monkeypatch.setitem(active_vs_delta._CHANNELS, "quick", 3)
    measured = active_vs_delta.measure("quick", runner)
    papers = paper.curves("active_vs_delta")
    assert {each.setting for each in measured.curves} == {"γ = 5 dB", "γ = 0 dB"}
    for each, name in active_vs_delta.FIGURE.series.items():
        assert measured.curves[each].keys() == papers[name].keys()
    for delta in (0.01, 0.51, 0.99):
        call = {"gamma_db": 5.0, "parameters": {"delta": delta}, "count": 3, "seed": SEED}
        counts = plain_counts(call)
        point = measured.curves[MATCHING_PURSUIT.at("γ = 5 dB")][delta]
        assert (point.value, point.count) == (np.mean(counts), 3)
        assert point.error == pytest.approx(np.std(counts, ddof=1) / np.sqrt(3))
    text = written(active_vs_delta.FIGURE, measured, tmp_path)
    assert f"scale **quick**, schedulers `{revision()}`: K = 20, N = 6; 3 channels per" in text
    assert "**smaller than the paper's run**: 3 of 2,000 channels per point" in text


@pytest.mark.parametrize(
    ("module", "counts"),
    [
        (active_vs_gamma_iid, "_CHANNELS"),
        (active_vs_gamma_network, "_NETWORKS"),
    ],
)
def test_active_vs_gamma(runner, tmp_path, monkeypatch, module, counts):
    monkeypatch.setitem(getattr(module, counts), "quick", {None: 2})
    measured = module.measure("quick", runner)
    papers = paper.curves(module.FIGURE.name)
    for each, name in module.FIGURE.series.items():
        assert name is None or measured.curves[each].keys() >= papers[name].keys()
        # The same channels at every γ.
        found = values(measured.curves[each])
        assert 0 <= found[0] < found[-1] <= 20
    for x, point in measured.paired[DUAL_PURSUIT, MATCHING_PURSUIT].items():
        dual, pursuit = (measured.curves[s][x].value for s in (DUAL_PURSUIT, MATCHING_PURSUIT))
        assert point.value == pytest.approx(dual - pursuit)
        assert point.value >= 0
    text = written(module.FIGURE, measured, tmp_path)
    assert "Dual pursuit" in text
    assert "not run" not in text


def test_rounds_of_a_drop_count_as_one_sample(runner, monkeypatch):
    monkeypatch.setattr(active_vs_gamma_umi, "_ROUNDS", {"quick": 40})
    monkeypatch.setattr(active_vs_gamma_umi, "_GAMMAS_DB", (-10,))
    monkeypatch.delitem(active_vs_gamma_umi.FIGURE.series, DC)
    measured = active_vs_gamma_umi.measure("quick", runner)
    call = {"algorithm": "matching_pursuit", "parameters": MATCHING_PURSUIT.arguments}
    size = {"model": "umi", "count": 40, "seed": SEED, "antennas": 6, "devices": 20}
    counts = np.reshape(count_active(**call, **size, gamma_db=-10.0), (20, 2)).mean(axis=1)
    point = measured.curves[MATCHING_PURSUIT][-10.0]
    assert (point.value, point.count) == (pytest.approx(counts.mean()), 20)
    assert point.error == pytest.approx(np.std(counts, ddof=1) / np.sqrt(20))


def test_the_overview_has_the_points_of_the_papers_figures(runner, tmp_path, monkeypatch):
    monkeypatch.setitem(overview._CHANNELS, "quick", {None: 2})
    monkeypatch.setitem(active_vs_gamma_network._NETWORKS, "quick", {None: 2})
    measured = overview.measure("quick", runner)
    network = active_vs_gamma_network.measure("quick", runner).curves
    for each in (DUAL_PURSUIT, DC, SDR, MATCHING_PURSUIT):
        assert each.label == each.algorithm.replace("_", " ")
        for gamma_db, point in measured.curves[each.at("network")].items():
            assert point == network[each][gamma_db - paper.SHIFT_DB]
    assert "dual pursuit minus dc" in written(overview.FIGURE, measured, tmp_path)


@pytest.mark.parametrize("module", [runtime_vs_gamma_iid, runtime_vs_size])
def test_runtime_is_measured_one_after_the_other(runner, tmp_path, monkeypatch, module):
    monkeypatch.setitem(runtime_vs_gamma_iid.CHANNELS, "quick", {None: 1})
    for each in [each for each in module._SERIES if each.label == DC_CLARABEL.label]:
        monkeypatch.delitem(module._SERIES, each)
    monkeypatch.setattr("joblib.Parallel", None)
    measured = module.measure("quick", runner)
    papers = paper.curves(module.FIGURE.name)
    for each, curve in measured.curves.items():
        name = module.FIGURE.series[each]
        assert name is None or curve.keys() == papers[name].keys()
        assert min(values(curve)) > 0
    text = written(module.FIGURE, measured, tmp_path)
    assert "times matching pursuit" in text
    assert "a quick run" in text


@pytest.fixture
def running(service_url, monkeypatch):
    """Let learning ask the service of the tests, in place of starting one for every call."""
    monkeypatch.setattr(
        learning, "running_command", lambda **settings: nullcontext((None, service_url))
    )


@pytest.mark.usefixtures("running")
def test_learning_curves_of_a_linear_layer(runner, tmp_path, monkeypatch):
    batches(tmp_path / "cifar-10-batches-py", per_batch=40)
    runner.data = tmp_path
    monkeypatch.setitem(learning.LINEAR, "quick", {"samples": 100, "rounds": 2, "coherence": 1})
    monkeypatch.setitem(learning.LINEAR_SEEDS, "quick", range(2))
    for name in ("train_loss_vs_epoch", "test_loss_vs_epoch", "accuracy_vs_epoch"):
        measured = FIGURES[name].measure("quick", runner)
        assert [list(curve) for curve in measured.curves.values()] == 5 * [[1.0, 2.0]]
        text = written(FIGURES[name], measured, tmp_path)
        assert "100 of 50,000 training images" in text
        assert "not the paper's network" in text
        assert "| dual pursuit − matching pursuit |" in text
    # One call per seed for all three.
    assert len(list(runner.cache.glob("*.json"))) == 2


@pytest.mark.usefixtures("running")
def test_learning_with_fewer_seeds(runner, tmp_path, monkeypatch):
    batches(tmp_path / "cifar-10-batches-py", per_batch=40)
    runner.data, runner.seeds = tmp_path, 2
    monkeypatch.setitem(learning.LINEAR, "quick", {"samples": 100, "rounds": 1, "coherence": 1})
    measured = FIGURES["accuracy_vs_epoch"].measure("quick", runner)
    assert {point.count for curve in measured.curves.values() for point in curve.values()} == {2}
    calls = [json.loads(file.read_text())["call"] for file in runner.cache.glob("*.json")]
    assert {call["seed"] for call in calls} == {0, 1}


@pytest.mark.usefixtures("running")
def test_learning_curves_of_the_network(runner, tmp_path, monkeypatch):
    pytest.importorskip("torch", reason="torch comes with the cifar extra")
    batches(tmp_path / "cifar-10-batches-py", per_batch=40)
    runner.data = tmp_path
    setting = {"samples": 100, "rounds": 2, "coherence": 1, "width": 0.125}
    monkeypatch.setitem(learning.NETWORK, "quick", setting)
    monkeypatch.setitem(learning.NETWORK_SEEDS, "quick", range(2))
    measured = FIGURES["network_vs_epoch"].measure("quick", runner)
    assert [list(curve) for curve in measured.curves.values()] == 4 * [[1.0, 2.0]]
    text = written(FIGURES["network_vs_epoch"], measured, tmp_path)
    assert "0.125 times the paper's width, 100 of 50,000 training images, 2 of 60 epochs" in text
    # The paper's perfect has 44.3 % at epoch 2.
    assert "/ 44.3 |" in text


@pytest.mark.usefixtures("running")
def test_the_epochs_that_all_runs_have_finished(runner, tmp_path, monkeypatch):
    batches(tmp_path / "cifar-10-batches-py", per_batch=40)
    runner.data = tmp_path
    monkeypatch.setitem(learning.LINEAR, "quick", {"samples": 100, "rounds": 3, "coherence": 1})
    monkeypatch.setitem(learning.LINEAR_SEEDS, "quick", range(2))
    partial = PartialRunner(runner.cache, data=tmp_path, console=Console(file=io.StringIO()))
    figure = FIGURES["accuracy_vs_epoch"]
    with pytest.raises(ValueError, match="not every run"):
        figure.measure("quick", partial)
    complete = figure.measure("quick", runner)
    assert figure.measure("quick", partial) == complete
    # The last policy of a seed has two epochs to go.
    lines = sorted(runner.cache.glob("checkpoints/*/runs/*.jsonl"))[-1]
    lines.write_text("".join(lines.read_text().splitlines(keepends=True)[:-2]))
    measured = figure.measure("quick", partial)
    assert "1 of 60 epochs" in measured.smaller
    for each, curve in measured.curves.items():
        assert curve == {1.0: complete.curves[each][1.0]}
    with pytest.raises(ValueError, match="figures that learn"):
        active_vs_delta.measure("quick", partial)


def test_learning_without_data_says_so(tmp_path, capsys):
    folders = ["--output", str(tmp_path / "new"), "--cache", str(tmp_path / "cache")]
    assert main(["test_loss_vs_epoch", *folders]) == 1
    assert "--data" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["no_such_figure", *folders])
    assert "no such figure: no_such_figure" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["accuracy_vs_epoch", "--seeds", "0", *folders])
    assert "--seeds must be at least 1" in capsys.readouterr().err
