"""The figures of bands, at a tiny scale."""

import numpy as np
import pytest

from app.scheduling import WIDEBAND_SCHEDULERS, solve
from experiments import bands
from experiments.figures import active_vs_subcarriers, active_vs_taps
from experiments.selection import SEED
from lab.problems import band_problems
from tests.experiments.test_figures import runner, written

__all__ = ["runner"]


@pytest.mark.parametrize(
    ("module", "band"), [(active_vs_subcarriers, (2, 4)), (active_vs_taps, (16, 2))]
)
def test_points_are_those_of_a_plain_loop(runner, tmp_path, monkeypatch, module, band):
    monkeypatch.setitem(bands.CHANNELS, "quick", 3)
    for x in module.BANDS.keys() - {1.0, 2.0}:
        monkeypatch.delitem(module.BANDS, x)
    measured = module.FIGURE.measure("quick", runner)
    subcarriers, taps = band
    for criterion, gamma_db in (("mean", 0.5), ("each", 1.3)):
        problems = band_problems(
            3, subcarriers, 6, 20, gamma_db, SEED, taps=taps, criterion=criterion
        )
        for method in bands.METHODS:
            parameters = WIDEBAND_SCHEDULERS[method.algorithm].parameters()
            counts = [solve(each, method.algorithm, parameters).active.size for each in problems]
            point = measured.curves[method.at(criterion)][2.0]
            assert (point.value, point.count) == (np.mean(counts), 3)
    for (one, other), curve in measured.paired.items():
        for x, point in curve.items():
            difference = measured.curves[one][x].value - measured.curves[other][x].value
            assert point.value == pytest.approx(difference)
            assert point.value >= 0
    assert "One set for the whole band" in written(module.FIGURE, measured, tmp_path)
