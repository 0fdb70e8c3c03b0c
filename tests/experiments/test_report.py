"""What becomes of a figure's numbers: RESULTS.md, files and pictures."""

import ast
import inspect
import re
from dataclasses import replace
from importlib import import_module
from itertools import combinations

import pytest
from scipy.stats import ttest_1samp

from experiments import learning_curves, report
from experiments.__main__ import main
from experiments.compare import largest_difference, plus_minus, ratios, rounded
from experiments.digest import revision
from experiments.figure import Figure, Measured, Point
from experiments.figures import FIGURES
from experiments.series import DC, DUAL_PURSUIT, MATCHING_PURSUIT, PERFECT, series
from experiments.summary import curves, mean, paired
from tests.experiments.test_figures import written


def test_the_results_say_which_figure_was_not_run(tmp_path):
    text = report.write(list(FIGURES.values()), tmp_path).read_text()
    assert text.count("was **not run**") == len(FIGURES)
    # And in the table of verdicts.
    assert text.count("| **not run** |") == sum(figure.number > 0 for figure in FIGURES.values())


def curve(points):
    return {x: Point(value) for x, value in points.items()}


def test_the_largest_difference_and_the_mean_ratio():
    papers = {"matching_pursuit": {1.0: 1.0, 2.0: 4.0}, "dc": {1.0: 10.0, 2.0: 80.0}}
    ours = {
        MATCHING_PURSUIT: curve({1.0: 2.0, 2.0: 2.0}),
        DC: curve({2.0: 50.0, 3.0: 1e9}),
    }
    assert largest_difference(ours[DC], papers["dc"]).size == 30.0
    far = largest_difference(ours[MATCHING_PURSUIT], papers["matching_pursuit"], ratio=True)
    assert (far.size, far.x) == (2.0, 2.0)
    rows = ratios(ours, papers, {MATCHING_PURSUIT: "matching_pursuit", DC: "dc"})
    # dc over matching pursuit: ours 25 at the one point; the paper's √(10·20); 80/50 of ours.
    assert "| dc | 25 | 14.1 | 1.6 |" in rows
    assert [rounded(value) for value in (0.01234, 12.34, 123456.0)] == ["0.0123", "12.3", "123,000"]


@pytest.mark.parametrize(
    ("point", "text"),
    [
        (Point(16.8218, 0.0314), "16.822 ± 0.031"),
        (Point(1234.5, 20.0), "1234 ± 20"),
        (Point(20.0, 0.0), "20.00 ± 0.00"),
        (Point(0.5), "0.5"),
        (Point(4.53e-05, 1.2e-06), "4.53e-05 ± 1.2e-06"),
    ],
)
def test_a_value_is_shown_to_the_second_digit_of_its_error(point, text):
    assert plus_minus(point) == text


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        # p = 0.0014, 0.027 and 0.036; one sample has no spread.
        ([3.0, 2.0, 4.0, 3.5, 2.5, 1.0], True),
        ([3.0, 2.0, 4.0, 3.5, 2.5, -1.0], False),
        ([3.0, 2.0, 4.0], False),
        ([3.0], False),
    ],
)
def test_an_order_is_resolved_by_a_t_test(samples, expected):
    point = mean(samples)
    if len(samples) > 1:
        assert (ttest_1samp(samples, 0.0).pvalue < 0.01) == expected
    assert learning_curves.resolved(point) is expected


def test_every_order_is_listed_with_its_paired_difference_beside_the_papers():
    papers = {"perfect": {1.0: 0.0, 2.0: 80.0}, "dc": {1.0: 0.0, 2.0: 70.0}}
    samples = {
        PERFECT: {1.0: [1.0, 1.0], 2.0: [30.0, 32.0]},
        DC: {1.0: [1.0, 1.0], 2.0: [20.0, 22.1]},
        DUAL_PURSUIT: {1.0: [1.0, 1.0], 2.0: [31.0, 21.1]},
    }
    names = {PERFECT: "perfect", DC: "dc", DUAL_PURSUIT: None}
    measured = Measured(curves(samples), paired=paired(samples, combinations(samples, 2)))
    lines = learning_curves.orders(measured, papers, names)
    assert "| perfect − dc | +9.950 ± 0.050 | **yes** | +10 |" in lines
    assert "| dc − dual pursuit | −5.0 ± 6.0 | no |  |" in lines
    assert sum("resolved" not in line and "−" in line for line in lines) == 3


NEW = series("matching_pursuit", "black", delta=0.3)
SMALL = Figure(
    number=11,
    name="efficiency_vs_gamma",
    title="Title",
    x_label="γ",
    y_label="ζ",
    size="K = 20, N = 6",
    unit="seeds",
    papers_count=8,
    series={MATCHING_PURSUIT: "matching_pursuit", NEW: None},
    measure=lambda scale, runner: MEASURED,
)
MEASURED = Measured(
    {
        MATCHING_PURSUIT: {0.0: Point(0.5, 0.0123, 5), 5.0: Point(0.9, 0.2, 5)},
        NEW: {0.0: Point(0.25, 0.01, 4, band=(0.2, 0.4))},
    },
    "a setting",
    "digits, not CIFAR-10",
    {(MATCHING_PURSUIT, NEW): {0.0: Point(0.25, 0.031, 4)}},
)


def test_results_show_both_at_every_point_with_errors(tmp_path):
    text = written(SMALL, MEASURED, tmp_path)
    assert "| γ | matching pursuit | matching pursuit, δ = 0.3 |" in text
    assert "| 0 | 0.500 ± 0.012 / 0.8531 | 0.250 ± 0.010 (in 0.2 … 0.4) |" in text
    assert "| 5 | 0.90 ± 0.20 / 0.8998 |  |" in text
    assert "| matching pursuit | `matching_pursuit` | 0.35 | 0 | 0.5 | 0.853 |" in text
    assert "| γ | matching pursuit − matching pursuit, δ = 0.3 |" in text
    assert "| 0 | +0.250 ± 0.031 |" in text
    assert "4 to 5 seeds per point; a setting" in text
    assert "± is one standard error" in text
    assert "4 of 8 seeds per point, digits, not CIFAR-10" in text
    assert report.read(SMALL, tmp_path).curves[NEW][0.0].band == (0.2, 0.4)


def test_the_picture_states_what_was_run(tmp_path, monkeypatch):
    pictures = []
    monkeypatch.setattr(
        "experiments.drawing.Picture.savefig", lambda self, *_, **__: pictures.append(self)
    )
    report.keep(SMALL, MEASURED, "quick", tmp_path)
    (picture,) = pictures
    above = picture.get_suptitle().replace("\n", " ")
    assert "K = 20, N = 6; 4 to 5 seeds per point" in above
    assert "± one standard error, at most 0.2" in above
    below = picture.get_supxlabel()
    assert below == "Smaller than the paper's run: 4 of 8 seeds per point, digits, not CIFAR-10"
    labels = [text.get_text() for text in picture.legends[0].get_texts()]
    assert labels == ["matching pursuit", "matching pursuit, δ = 0.3", "ours", "the paper's"]
    bars = [each for each in picture.axes[0].containers if each.has_yerr]
    low, high = bars[0].lines[2][0].get_segments()[0][:, 1]
    assert (low, high) == pytest.approx((0.5 - 0.0123, 0.5 + 0.0123))
    (band,) = [each for each in picture.axes[0].collections if hasattr(each, "get_paths")][-1:]
    assert band.get_datalim(picture.axes[0].transData).intervaly == pytest.approx((0.2, 0.4))


def test_a_quick_run_never_replaces_the_papers_scale(tmp_path, capsys):
    assert report.folder_of("quick") != report.folder_of("paper") == report.COMMITTED
    report.keep(SMALL, MEASURED, "paper", tmp_path)
    before = (tmp_path / "results" / f"{SMALL.name}.csv").read_bytes()
    with pytest.raises(report.SmallerScaleError, match="--output"):
        report.keep(SMALL, Measured({NEW: {0.0: Point(1.0, 0.1, 1)}}), "quick", tmp_path)
    assert main([SMALL.name, "--output", str(tmp_path)]) == 1
    # Wrapped to the width of the terminal.
    assert "must not replace" in " ".join(capsys.readouterr().err.split())
    assert (tmp_path / "results" / f"{SMALL.name}.csv").read_bytes() == before


def test_fewer_seeds_never_replace_more(tmp_path):
    report.keep(SMALL, MEASURED, "paper", tmp_path)
    report.require_no_loss(SMALL, "paper", tmp_path, 4)
    report.require_no_loss(SMALL, "paper", tmp_path)
    with pytest.raises(report.SmallerScaleError, match="with 4 seeds, which a run with 2"):
        report.require_no_loss(SMALL, "paper", tmp_path, 2)


SHARED = ("bands", "learning_curves")
"""Modules with remarks of several figures."""


def _texts(node):
    """Yield the strings below a node, without docstrings, formats and keys."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.FormattedValue | ast.Subscript):
        yield from _texts(node.value)
    elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
        for child in ast.iter_child_nodes(node):
            yield from _texts(child)


def _written_by_hand(module):
    """Yield the strings of a module's remarks and reasons, and of its functions they call."""
    tree = ast.parse(inspect.getsource(module))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    left = [functions["remarks"]] if "remarks" in functions else []
    left += [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword) and node.arg in ("remarks", "why")
    ]
    seen = set()
    while left:
        node = left.pop()
        yield from _texts(node)
        called = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)} - seen
        seen |= called
        left += [functions[name] for name in called & functions.keys()]


@pytest.mark.parametrize("name", [*(f"figures.{each}" for each in FIGURES), *SHARED])
def test_no_number_is_written_into_remarks(name):
    """Numbers come from points and constants; only names may have digits."""
    texts = list(_written_by_hand(import_module(f"experiments.{name}")))
    assert not [text for text in texts if re.search(r"(?<!\w)\d", text)]


def test_remarks_are_written_from_the_points():
    """With other points of the paper's, the remarks have other numbers."""
    figure = FIGURES["active_vs_gamma_iid"]
    measured = report.read(figure, report.COMMITTED)
    papers = report.papers_of(figure)
    text = " ".join(figure.remarks(measured, papers))
    pursuit = papers["matching_pursuit"]
    round_numbers = dict.fromkeys(f"{value:g}" for x, value in pursuit.items() if x >= 5)
    assert f"({', '.join(round_numbers)})" in text
    other = {name: {x: y + 100.0 for x, y in curve.items()} for name, curve in papers.items()}
    shifted = ", ".join(f"{float(value) + 100:g}" for value in round_numbers)
    changed = " ".join(figure.remarks(measured, other))
    assert f"({shifted})" in changed
    assert f"dc ({papers['dc'][14.0] + 100:g})" in changed


def test_results_are_written_once_per_run(tmp_path, monkeypatch):
    written_to = []
    monkeypatch.setattr(report, "write", lambda figures, folder: written_to.append(folder))
    two = {name: replace(SMALL, measure=lambda scale, runner: MEASURED) for name in ("a", "b")}
    monkeypatch.setattr("experiments.__main__.FIGURES", two)
    assert main(["--output", str(tmp_path), "--cache", str(tmp_path / "cache")]) == 0
    assert written_to == [tmp_path]


def test_points_of_an_unknown_series_are_refused(tmp_path):
    report.keep(SMALL, MEASURED, "paper", tmp_path)
    with pytest.raises(ValueError, match=r"delta=0\.3"):
        report.read(FIGURES[SMALL.name], tmp_path)


def test_results_of_another_run_are_taken_over(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(FIGURES, SMALL.name, SMALL)
    there, here = tmp_path / "there", tmp_path / "here"
    report.keep(SMALL, MEASURED, "paper", there)
    arguments = [SMALL.name, "--import", str(there), "--output", str(here)]
    assert main(arguments) == 0
    assert report.read(SMALL, here) == report.read(SMALL, there)
    assert f"schedulers `{revision()}`" in (here / "RESULTS.md").read_text()
    assert "4 to 5 seeds per point; a setting" in (here / "RESULTS.md").read_text()
    # Also by this way, a quick run replaces nothing at the paper's scale.
    report.keep(SMALL, MEASURED, "quick", tmp_path / "quick")
    assert main([SMALL.name, "--import", str(tmp_path / "quick"), "--output", str(here)]) == 1
    assert "must not replace" in " ".join(capsys.readouterr().err.split())
    assert main(["overview", "--import", str(there), "--output", str(here)]) == 1
    assert "does not hold overview" in " ".join(capsys.readouterr().err.split())
