"""The committed results: complete, drawn with their errors, and what the documentation says."""

import math
import shutil

import pytest

from airsched_client.federated.palette import color_of
from app.scheduling import SCHEDULERS
from experiments import report
from experiments.compare import plus_minus
from experiments.figures import FIGURES
from tests.pages import ROOT, named, rows

KEPT = report.kept(list(FIGURES.values()), report.COMMITTED)


def test_every_figure_is_there():
    assert list(FIGURES.values()) == KEPT
    for figure in KEPT:
        assert (report.COMMITTED / "results" / f"{figure.name}.png").exists()


@pytest.mark.parametrize("figure", KEPT, ids=lambda figure: figure.name)
def test_every_series_is_measured_with_errors(figure):
    measured = report.read(figure, report.COMMITTED)
    assert measured.curves.keys() == figure.series.keys()
    for curve in [*measured.curves.values(), *measured.paired.values()]:
        for point in curve.values():
            assert point.count > 1
            assert math.isfinite(point.error)


@pytest.mark.parametrize("figure", KEPT, ids=lambda figure: figure.name)
def test_every_figure_states_its_size(figure):
    measured = report.read(figure, report.COMMITTED)
    for words in ("K = ", "N = ", f" {figure.unit} per point"):
        assert words in figure.sample(measured)
    titles = [each.title for each in figure.series]
    assert len(set(titles)) == len(titles)
    drawn = [(each.color, each.line, each.setting) for each in figure.series if each.color]
    assert len(set(drawn)) == len(drawn)
    for each in figure.series:
        # One colour per policy, in every figure.
        assert each.color in (None, color_of(each.name.partition("@")[0]))
    if figure.unit == "seeds":
        assert "σ²" in measured.setting or "σ²" in figure.x_label
        if any(each.algorithm in ("perfect", "auto") for each in figure.series):
            assert "γ" not in figure.title + figure.sample(measured)


def test_the_results_page_is_made_from_the_points(tmp_path):
    shutil.copytree(report.COMMITTED / "results", tmp_path / "results")
    written = report.write(list(FIGURES.values()), tmp_path).read_text()
    assert written == (report.COMMITTED / "RESULTS.md").read_text()


def test_the_readme_shows_the_defaults_and_the_documented_table_agrees():
    assert "experiments/results/overview.png" in (ROOT / "README.md").read_text()
    figure = FIGURES["overview"]
    for each in figure.series:
        assert each.parameters == SCHEDULERS[each.algorithm].parameters()
    curves = {
        (each.algorithm, each.setting): curve
        for each, curve in report.read(figure, report.COMMITTED).curves.items()
    }
    assert {algorithm for algorithm, _ in curves} == {
        "dual_pursuit",
        "dc",
        "matching_pursuit",
        "sdr",
    }
    model, shown = "", 0
    for where, *cells in rows(ROOT / "docs" / "algorithms.md", "How they compare"):
        model = where.rpartition(",")[0] or model
        gamma_db = float(where.rpartition(",")[2].removesuffix("dB").replace("−", "-"))
        order = ("dual_pursuit", "dc", "matching_pursuit", "sdr")
        for algorithm, cell in zip(order, cells, strict=True):
            point = curves[algorithm, model][gamma_db]
            assert cell.startswith(f"{point.value:.2f} ± {point.error:.2f} ("), (where, algorithm)
            shown += 1
    assert shown == 28


def test_the_documented_rivals_have_the_numbers_of_the_figures():
    shown = 0
    for name, panel, at, *cells in rows(ROOT / "docs" / "algorithms.md", "Rivals"):
        figure = FIGURES[named(name)[0]]
        measured, x = report.read(figure, report.COMMITTED), float(at.replace("−", "-"))
        setting = "" if panel == "—" else panel
        curves = {
            f"{series.label} {plus_minus(curve[x])}"
            for series, curve in measured.curves.items()
            if series.setting == setting and x in curve
        }
        differences = {
            f"{one.label} − {other.label}: {plus_minus(curve[x], sign=True)}"
            for (one, other), curve in measured.paired.items()
            if one.setting == setting and x in curve
        }
        ours, rival, difference = cells
        assert {ours, rival} <= curves
        assert difference in differences
        shown += 1
    assert shown >= 13
