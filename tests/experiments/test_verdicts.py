"""The table of verdicts: computed from the points."""

from dataclasses import replace
from math import nan

import pytest

from experiments import report, verdicts
from experiments.figure import Measured, Point
from experiments.figures import FIGURES
from experiments.series import DC, MATCHING_PURSUIT, SDR
from tests.experiments.test_report import SMALL

PAPERS = {"matching_pursuit": {0.0: 10.0, 1.0: 20.0, 2.0: 20.0, 3.0: 20.0}}
ONE = replace(SMALL, series={MATCHING_PURSUIT: "matching_pursuit", DC: None})


def measured(*values, error=0.01, series=MATCHING_PURSUIT):
    return {series: {float(x): Point(value, error, 5) for x, value in enumerate(values)}}


@pytest.mark.parametrize(
    ("values", "error", "expected"),
    [
        # 2.5 % of 20 is 0.5; three standard errors of 0.4 are 1.2.
        ((10.5, 19.5, 20.0, 20.0), 0.01, "reproduced"),
        ((10.6, 19.5, 20.0, 20.0), 0.01, "partly"),
        ((11.1, 19.0, 20.0, 20.0), 0.4, "reproduced"),
        ((11.3, 19.0, 18.0, 18.0), 0.01, "no"),
        ((11.3, 19.0, 20.0, 20.0), nan, "partly"),
    ],
)
def test_the_verdict_follows_from_the_points(values, error, expected):
    judged = verdicts.judge(ONE, Measured(measured(*values, error=error)), PAPERS)
    assert verdicts.verdict(judged) == expected


def test_a_point_that_was_fitted_shows_nothing():
    figure = replace(ONE, fitted=(3.0,))
    judged = verdicts.judge(figure, Measured(measured(10.0, 20.0, 20.0, 20.0)), PAPERS)
    assert (judged[0].agreeing, judged[0].points) == (3, 4)
    assert verdicts.verdict(judged) == "partly"


def test_a_time_agrees_within_a_factor_of_two():
    figure = replace(ONE, log_y=True)
    (judged,) = verdicts.judge(figure, Measured(measured(5.0, 41.0, 20.0, 9.9)), PAPERS)
    assert (judged.agreeing, judged.points) == (2, 4)
    assert judged.furthest.size == pytest.approx(41 / 20)


def test_a_curve_is_judged_by_the_closest_series_and_a_figure_by_its_worst_curve():
    figure = replace(
        ONE, series={MATCHING_PURSUIT: "matching_pursuit", DC: "matching_pursuit", SDR: "sdr"}
    )
    curves = {
        **measured(10.0, 20.0, 20.0, 17.0),
        **measured(10.0, 18.0, 20.0, 20.0, series=DC),
        **measured(4.0, series=SDR, error=0.2),
    }
    row = verdicts.row(figure, Measured(curves), PAPERS | {"sdr": {0.0: 1.0}})
    # dc is two off, matching pursuit three; sdr has one point and is three off.
    assert "| **partly** | 3 of 5 |" in row
    assert "| 3.00 ± 0.20: sdr at 0, 4 for 1 |" in row


def test_the_results_begin_with_the_papers_figures_in_its_order_and_link_to_them():
    text = (report.COMMITTED / "RESULTS.md").read_text()
    numbers = [figure.number for figure in FIGURES.values()]
    of_paper = [number for number in numbers if number]
    assert numbers == sorted(of_paper) + [0] * (len(numbers) - len(of_paper))
    table = text[text.index("## What was reproduced") : text.index(f"## {_first().title}")]
    for figure in FIGURES.values():
        assert verdicts.link(figure) in table
        assert f"\n## {figure.title}\n" in text
        if not figure.number:
            section = text[text.index(f"\n## {figure.title}\n") :]
            assert "scale **paper**" not in section.split("\n## ")[1]
    assert table.count("| **") == len(of_paper)


def _first():
    return next(iter(FIGURES.values()))
