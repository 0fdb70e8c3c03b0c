"""The figures of the rivals at a tiny scale."""

import numpy as np
import pytest

from experiments import rivals
from experiments.figures import rivals_gsds, rivals_kim
from experiments.series import DUAL_PURSUIT
from lab.problems import iid_problems
from lab.rivals import gsds, kim
from tests.experiments.test_figures import runner, values, written

__all__ = ["runner"]


def test_kim_is_run_on_the_channels_of_dual_pursuit(runner, tmp_path, monkeypatch):
    monkeypatch.setitem(rivals_kim._CHANNELS, "quick", 2)
    monkeypatch.setattr(rivals_kim, "GAMMAS_DB", (-8, -4, 0, 4, 8))
    monkeypatch.setattr(rivals_kim, "DEVICES", (30,))
    measured = rivals_kim.measure("quick", runner)
    assert measured.curves.keys() == rivals_kim.FIGURE.series.keys()
    problems = iid_problems(2, 6, 60, 0.0, seed=rivals_kim.SEED)
    for series, inner in ((rivals_kim.SUBGRADIENT, "subgradient"), (rivals_kim.EXACT, "exact")):
        counts = [kim.served(problem, inner) for problem in problems]
        assert measured.curves[series.at("tolerance")][0.0].value == np.mean(counts)
    ours = values(measured.curves[DUAL_PURSUIT.at("tolerance")])
    assert ours == sorted(ours)
    text = written(rivals_kim.FIGURE, measured, tmp_path)
    assert "multiple of dual pursuit's, in the same run: mm subgradient" in text


def test_gsds_is_run_on_the_drops_of_the_frontier(runner, tmp_path, monkeypatch):
    monkeypatch.setitem(rivals_gsds._DROPS, "quick", 3)
    monkeypatch.setattr(rivals_gsds, "POWERS_DBM", (-15, 5))
    measured = rivals_gsds.measure("quick", runner)
    rng = np.random.default_rng(rivals_gsds.SEED)
    costs = [gsds.select(*gsds.drop(rng, -15.0, True)).cost for _ in range(3)]
    assert measured.curves[rivals_gsds.GSDS.at("uneven")][-15.0].value == pytest.approx(
        np.mean(costs)
    )
    for pair, curve in measured.paired.items():
        one, other = (measured.curves[each] for each in pair)
        for x, point in curve.items():
            assert point.value == pytest.approx(one[x].value - other[x].value)
    assert "GSDS minus frontier" in written(rivals_gsds.FIGURE, measured, tmp_path)


def test_times_are_ratios_on_the_same_channel():
    found = rivals._in_turns([0.001, 0.002], {"one": busy, "other": lambda x: busy(5 * x)})
    ratios = np.divide(found["other"]["seconds"], found["one"]["seconds"])
    assert 3 < np.exp(np.mean(np.log(ratios))) < 8


def busy(seconds):
    """Use the processor for so long, and return how long it was."""
    import time

    end = time.process_time() + 5 * seconds
    while time.process_time() < end:
        pass
    return seconds
