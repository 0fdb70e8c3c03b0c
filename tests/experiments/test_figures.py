"""Every figure at a tiny scale, and what is made of its numbers."""

import io
from contextlib import nullcontext

import numpy as np
import pytest
from rich.console import Console

from experiments import (
    active_vs_delta,
    active_vs_gamma_iid,
    active_vs_gamma_network,
    efficiency_vs_gamma,
    learning,
    report,
    runtime_vs_gamma_iid,
    runtime_vs_size,
)
from experiments.__main__ import FIGURES, main
from experiments.compare import largest_difference, ratios, rounded
from experiments.figure import Figure, Measured
from experiments.runner import Runner
from experiments.selection import SEED
from lab import paper
from tests.client.federated.test_tasks import batches
from tests.experiments.test_runner import plain_counts

FAST = ("matching_pursuit", "dual_pursuit", "dc", "sdr")


@pytest.fixture
def runner(tmp_path):
    return Runner(tmp_path / "cache", jobs=1, console=Console(file=io.StringIO()))


def written(figure, measured, folder):
    """Return RESULTS.md with one figure in it."""
    report.keep(figure, measured, "quick", folder)
    assert (folder / "results" / f"{figure.name}.png").stat().st_size > 10_000
    kept = paper.read(folder / "results" / f"{figure.name}.csv")
    assert kept.keys() == measured.curves.keys()
    for series, curve in kept.items():
        assert curve == pytest.approx(measured.curves[series], rel=1e-4)
    return report.write([figure], folder).read_text()


def test_active_vs_delta_is_what_a_plain_loop_of_svds_gives(runner, tmp_path, monkeypatch):
    monkeypatch.setitem(active_vs_delta._CHANNELS, "quick", 3)
    measured = active_vs_delta.measure("quick", runner)
    assert {series: set(curve) for series, curve in measured.curves.items()} == {
        series: set(curve) for series, curve in paper.curves("active_vs_delta").items()
    }
    for delta in (0.01, 0.51, 0.99):
        call = {"gamma_db": 5.0, "parameters": {"delta": delta}, "count": 3, "seed": SEED}
        assert measured.curves["gamma_5_db"][delta] == np.mean(plain_counts(call))
    text = written(active_vs_delta.FIGURE, measured, tmp_path)
    assert "scale **quick**: 3 channels" in text


@pytest.mark.parametrize("module", [active_vs_gamma_iid, active_vs_gamma_network])
def test_active_vs_gamma(runner, tmp_path, monkeypatch, module):
    monkeypatch.setitem(module._CHANNELS, "quick", {"": 2})
    measured = module.measure("quick", runner)
    papers = paper.curves(module.FIGURE.name)
    for series in papers:
        assert measured.curves[series].keys() == papers[series].keys()
        # The same channels at every γ.
        values = list(measured.curves[series].values())
        assert 0 <= values[0] < values[-1] <= 20
    assert all(
        mine >= pursuit
        for mine, pursuit in zip(
            measured.curves["dual_pursuit"].values(),
            measured.curves["matching_pursuit"].values(),
            strict=True,
        )
    )
    text = written(module.FIGURE, measured, tmp_path)
    assert "Dual pursuit" in text
    assert "not run" not in text


@pytest.mark.parametrize("module", [runtime_vs_gamma_iid, runtime_vs_size])
def test_runtime_is_measured_one_after_the_other(runner, tmp_path, monkeypatch, module):
    monkeypatch.setitem(module._CHANNELS, "quick", {"": 1, "dc_clarabel": 1})
    monkeypatch.setattr(module, "_SERIES", FAST)
    monkeypatch.setattr("joblib.Parallel", None)
    measured = module.measure("quick", runner)
    for series, curve in paper.curves(module.FIGURE.name).items():
        assert measured.curves[series].keys() == curve.keys()
        assert min(measured.curves[series].values()) > 0
    assert "times matching pursuit" in written(module.FIGURE, measured, tmp_path)


@pytest.fixture
def running(service_url, monkeypatch):
    """Let learning ask the service of the tests, in place of starting one for every call."""
    monkeypatch.setattr(
        learning, "running_command", lambda **settings: nullcontext((None, service_url))
    )


@pytest.mark.usefixtures("running")
def test_efficiency_of_digits(runner, tmp_path, monkeypatch):
    monkeypatch.setattr(efficiency_vs_gamma, "_DIGITS", {"noise_variance": 1.0, "rounds": 1})
    monkeypatch.setattr(efficiency_vs_gamma, "_DIGITS_SEEDS", range(1))
    measured = efficiency_vs_gamma.measure("quick", runner)
    papers = paper.curves("efficiency_vs_gamma")["matching_pursuit"]
    for curve in measured.curves.values():
        assert curve.keys() == papers.keys()
        assert all(0 < value < 2 for value in curve.values())
    assert "not CIFAR-10" in written(efficiency_vs_gamma.FIGURE, measured, tmp_path)


@pytest.mark.usefixtures("running")
def test_learning_curves(runner, tmp_path, monkeypatch):
    pytest.importorskip("torch", reason="torch comes with the cifar extra, which is not in dev")
    batches(tmp_path / "cifar-10-batches-py", per_batch=40)
    runner.data = tmp_path
    setting = {"samples": 100, "batch_size": 4, "evaluated": 10, "rounds": 2, "coherence": 1}
    monkeypatch.setitem(learning.CIFAR10, "quick", setting)
    monkeypatch.setattr(learning, "POLICIES", {"matching_pursuit": "matching_pursuit"})
    monkeypatch.setitem(learning.SEEDS, "quick", (3,))
    for name in ("train_loss", "test_loss", "accuracy_vs_epoch"):
        measured = FIGURES[name].measure("quick", runner)
        assert [list(curve) for curve in measured.curves.values()] == [[1.0, 2.0]]
        assert "100 of its 50000 training images" in written(FIGURES[name], measured, tmp_path)
    # One call for all three.
    assert len(list(runner.cache.glob("*.json"))) == 1


def test_learning_without_data_says_so(tmp_path, capsys):
    folders = ["--output", str(tmp_path), "--cache", str(tmp_path / "cache")]
    assert main(["test_loss", *folders]) == 1
    assert "--data" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["no_such_figure", *folders])
    assert "no such figure: no_such_figure" in capsys.readouterr().err


def test_a_figure_that_was_not_run_is_said_to_be(tmp_path):
    text = report.write(list(FIGURES.values()), tmp_path).read_text()
    assert text.count("was **not run**") == len(FIGURES) == 9


def test_the_largest_difference_and_the_mean_ratio():
    papers = {"matching_pursuit": {1.0: 1.0, 2.0: 4.0}, "dc": {1.0: 10.0, 2.0: 80.0}}
    ours = {"matching_pursuit": {1.0: 2.0, 2.0: 2.0}, "dc": {2.0: 50.0, 3.0: 1e9}}
    assert largest_difference(ours, papers)[:3] == (30.0, "dc", 2.0)
    assert largest_difference(ours, papers, ratio=True)[:3] == (2.0, "matching_pursuit", 2.0)
    rows = ratios(ours, papers)
    # dc over matching pursuit: ours 25 at the one point; the paper's √(10·20); 80/50 of ours.
    assert "| dc | 25 | 14.1 | 1.6 |" in rows
    assert [rounded(value) for value in (0.01234, 12.34, 123456.0)] == ["0.0123", "12.3", "123,000"]


def test_where_the_order_differs_is_said():
    papers = {"perfect": {1.0: 0.0, 2.0: 80.0}, "dc": {1.0: 0.0, 2.0: 70.0}}
    same = {"perfect": {1.0: 1.0, 2.0: 30.0}, "dc": {1.0: 1.0, 2.0: 20.0}}
    same["dual_pursuit"] = {1.0: 1.0, 2.0: 31.0}
    assert "The order is the paper's" in learning.order(same, papers, best=max)[2]
    other = {"perfect": {1.0: 1.0, 2.0: 20.0}, "dc": {1.0: 1.0, 2.0: 22.0}}
    line = learning.order(other, papers, best=max)[2]
    assert "not the paper's" in line
    assert "2 apart" in line


def test_results_show_both_at_every_point(tmp_path):
    figure = Figure("efficiency_vs_gamma", "Title", "γ", "ζ", measure=lambda scale, runner: None)
    measured = Measured({"matching_pursuit": {0.0: 0.5, 5.0: 0.9}, "new": {0.0: 0.25}}, "a setting")
    text = written(figure, measured, tmp_path)
    assert "| 0 | 0.5 / 0.8531 | 0.25 / – |" in text
    assert "| 5 | 0.9 / 0.8998 |  |" in text
    assert "| matching pursuit | 0.35 | 0 | 0.5 | 0.853 |" in text
