"""The noise at which the efficiency is the paper's."""

import json
from contextlib import nullcontext

import numpy as np
import pytest

from experiments import efficiency, learning, side_by_side
from experiments.figures import efficiency_vs_noise
from tests.client.federated.test_tasks import batches
from tests.experiments.test_figures import runner, written

__all__ = ["runner"]


def test_the_ladder_is_climbed_with_either_noise(runner, service_url, tmp_path, monkeypatch):
    batches(tmp_path / "cifar-10-batches-py", per_batch=40)
    runner.data = tmp_path
    monkeypatch.setattr(
        side_by_side, "running_command", lambda **settings: nullcontext((None, service_url))
    )
    monkeypatch.setitem(learning.LINEAR, "quick", {"samples": 100, "rounds": 2, "coherence": 1})
    measured = efficiency_vs_noise.measure("quick", runner)
    found = {}
    for file in runner.cache.glob("*.json"):
        kept = json.loads(file.read_text())
        for run, accuracies in zip(kept["call"]["runs"], kept["result"], strict=True):
            found.setdefault(tuple(run), {})[kept["call"]["seed"]] = accuracies[-1]
    perfect = found.pop(("perfect", None, "schedule", 0.0))
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


def test_the_noise_is_fitted_between_the_steps_of_the_ladder():
    curve = dict(zip((1.0, 2.0, 4.0, 8.0, 16.0), (1.0, 0.9, 0.8, 0.82, 0.6), strict=True))
    # Halfway from 0.9 to 0.8, on a logarithmic ladder.
    assert efficiency.fit(curve, 0.85) == pytest.approx(np.sqrt(2.0 * 4.0))
    assert efficiency.fit(curve, 0.1) == pytest.approx(16.0)
