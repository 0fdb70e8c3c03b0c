"""The noise at which the efficiency is the paper's."""

import json
from contextlib import nullcontext

import numpy as np
import pytest

from experiments import efficiency, learning, side_by_side
from experiments.figure import Measured, Point
from experiments.figures import efficiency_vs_gamma, efficiency_vs_noise
from experiments.series import AUTO
from lab import paper
from tests.client.federated.test_tasks import batches
from tests.experiments.test_figures import runner, written

__all__ = ["runner"]


@pytest.fixture
def tiny(runner, service_url, tmp_path, monkeypatch):
    """Let the runner train on a few images, for two epochs."""
    batches(tmp_path / "cifar-10-batches-py", per_batch=40)
    runner.data = tmp_path
    monkeypatch.setattr(
        side_by_side, "running_command", lambda **settings: nullcontext((None, service_url))
    )
    monkeypatch.setitem(learning.LINEAR, "quick", {"samples": 100, "rounds": 2, "coherence": 1})
    return runner


def finals(runner, seeds):
    """Return the last accuracy of every run that the cache holds: run → seed → accuracy."""
    found = {}
    for file in runner.cache.glob("*.json"):
        kept = json.loads(file.read_text())
        if kept["call"]["seed"] in seeds:
            for run, accuracies in zip(kept["call"]["runs"], kept["result"], strict=True):
                found.setdefault(tuple(run), {})[kept["call"]["seed"]] = accuracies[-1]
    return found


PERFECT = ("perfect", None, "schedule", 0.0)


def test_the_ladder_is_climbed_with_either_noise(tiny, tmp_path):
    measured = efficiency_vs_noise.measure("quick", tiny)
    found = finals(tiny, (100, 101))
    perfect = found.pop(PERFECT)
    assert {run[1] for run in found} == {46.0}
    for each, curve in measured.curves.items():
        assert tuple(curve) == efficiency.LADDER
        for variance, point in curve.items():
            run = (each.policy, 46.0, efficiency.NOISES[each.setting], variance)
            ratios = [found[run][seed] / perfect[seed] for seed in (100, 101)]
            assert point.value == pytest.approx(np.mean(ratios))
            assert point.count == 2
    text = written(efficiency_vs_noise.FIGURE, measured, tmp_path)
    assert "which has ζ = 0.811 for matching pursuit at 40 dB" in text


def test_every_tolerance_is_measured_at_the_fitted_noise_on_other_seeds(tiny, tmp_path):
    measured = efficiency_vs_gamma.measure("quick", tiny)
    variances = efficiency.fitted(tiny, "quick")
    assert set(efficiency.FIT_SEEDS["quick"]).isdisjoint(efficiency.SEEDS["quick"])
    found = finals(tiny, efficiency.SEEDS["quick"])
    perfect = found[PERFECT]
    assert len(perfect) == 3
    for each, curve in measured.curves.items():
        assert curve.keys() == paper.curves("efficiency_vs_gamma")["matching_pursuit"].keys()
        noise = efficiency.NOISES.get(each.setting, "schedule")
        variance = variances.get(each.setting, 0.0)
        for gamma_db, point in curve.items():
            # auto has the same value at every tolerance.
            shifted = None if each.policy == AUTO.policy else gamma_db + paper.SHIFT_DB
            run = found[each.policy, shifted, noise, variance]
            assert point.value == pytest.approx(np.mean([run[s] / perfect[s] for s in perfect]))
    text = written(efficiency_vs_gamma.FIGURE, measured, tmp_path)
    for setting, variance in variances.items():
        assert f"{variance:g} ({setting})" in text


def test_the_errors_of_the_points_that_are_not_fitted_are_listed():
    papers = paper.curves("efficiency_vs_gamma")
    theirs = papers["matching_pursuit"]

    def off(by):
        """Return a curve that is off by so much up to 20 dB, and by half of it beyond."""
        return {x: Point(y + (by if x <= 20 else by / 2), 0.01, 8) for x, y in theirs.items()}

    figure = efficiency_vs_gamma.FIGURE
    curves = {each: off(0.04) for each in figure.series}
    pairs = {pair: dict.fromkeys(theirs, Point(0.0, 0.01, 8)) for pair in figure.pairs}
    lines = figure.remarks(Measured(curves, paired=pairs), papers)
    assert "| 20 | 0.979 |" + 3 * " +0.040 ± 0.010 |" in lines
    assert "| 40 (fitted) | 0.811 |" + 3 * " +0.020 ± 0.010 |" in lines
    near = " **0.020** (standard errors: 0.010) |"
    assert "| **rms, 25 to 35 dB** | |" + 3 * near in lines
    # √((5 · 0.04² + 3 · 0.02²) / 8)
    assert "| **rms, all not fitted** | |" + 3 * near.replace("0.020", "0.034") in lines


def test_the_noise_is_fitted_between_the_steps_of_the_ladder(monkeypatch):
    curve = dict(zip((1.0, 2.0, 4.0, 8.0, 16.0), (1.0, 0.9, 0.8, 0.82, 0.6), strict=True))
    # Halfway from 0.9 to 0.8, on a logarithmic ladder.
    monkeypatch.setattr(efficiency, "wanted", lambda: 0.85)
    assert efficiency.fit(curve) == pytest.approx(np.sqrt(2.0 * 4.0))
    monkeypatch.setattr(efficiency, "wanted", lambda: 0.1)
    assert efficiency.fit(curve) == pytest.approx(16.0)
