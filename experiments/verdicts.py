"""What was reproduced: the table that ``RESULTS.md`` begins with, computed from the points.

Each curve of the paper is judged by that of our series which stays closest to it. A point
**agrees** if it is within three standard errors of the paper's or within :data:`SHARE` of the
figure's largest value; a time, within a factor of :data:`FACTOR`.
"""

import re
from math import isfinite
from typing import NamedTuple

from experiments.compare import Difference, largest_difference, minus, plus_minus, rounded
from experiments.figure import Figure, Measured, PaperCurves, Point
from experiments.series import Series

SHARE = 0.025
FACTOR = 2.0
_ERRORS = 3.0

RULE = (
    f"A point **agrees** if it is within three standard errors of the paper's or within "
    f"{SHARE:.1%} of the figure's largest value; a time, within a factor of {FACTOR:g}. A point to "
    "which a number was fitted counts as one that does not. A figure is **reproduced** if every "
    "point of the paper's agrees with the closest of our series, **partly** if at least half do. "
    "The table is computed from the points; only the reasons are written by hand. Figure 4 is a "
    "drawing of the network."
)


class Judged(NamedTuple):
    """One of the paper's curves beside the closest of our series.

    ``points`` are all of the paper's: one that was not run, or that was fitted, does not agree.
    """

    series: Series
    furthest: Difference
    agreeing: int
    points: int


def verdict(judged: list[Judged]) -> str:
    """Return *reproduced*, *partly* or *no*."""
    agreeing = sum(each.agreeing for each in judged)
    points = sum(each.points for each in judged)
    if agreeing == points:
        return "reproduced"
    return "partly" if 2 * agreeing >= points else "no"


def judge(figure: Figure, measured: Measured, papers: PaperCurves) -> list[Judged]:
    """Return every curve of the paper that one of our series is compared with."""
    largest = max(value for curve in papers.values() for value in curve.values())
    found: dict[str, Judged] = {}
    for series, name in figure.series.items():
        curve = measured.curves.get(series, {})
        if name is None or not curve.keys() & papers[name].keys():
            continue
        shared = {x: value for x, value in papers[name].items() if x in curve}
        agreeing = sum(
            _agrees(curve[x], value, SHARE * largest, figure.log_y)
            for x, value in shared.items()
            if x not in figure.fitted
        )
        furthest = largest_difference(curve, shared, ratio=figure.log_y)
        judged = Judged(series, furthest, agreeing, len(papers[name]))
        if name not in found or furthest.size < found[name].furthest.size:
            found[name] = judged
    return list(found.values())


def _agrees(ours: Point, papers: float, tolerance: float, ratio: bool) -> bool:
    if ratio:
        return 1 / FACTOR <= ours.value / papers <= FACTOR
    # Without a standard error, the tolerance alone decides.
    error = ours.error if isfinite(ours.error) else 0.0
    return abs(ours.value - papers) <= max(tolerance, _ERRORS * error)


def row(figure: Figure, measured: Measured, papers: PaperCurves) -> str:
    """Return a figure's row of the table."""
    judged = judge(figure, measured, papers)
    worst = max(judged, key=lambda each: each.furthest.size)
    far = worst.furthest
    error = measured.curves[worst.series][far.x].error
    if figure.log_y:
        size = f"{rounded(far.size)} ± {rounded(far.size * error / far.ours)} ×"
    else:
        size = plus_minus(Point(far.size, error))
    agreeing = sum(each.agreeing for each in judged)
    points = sum(each.points for each in judged)
    cells = [
        str(figure.number),
        link(figure),
        f"**{verdict(judged)}**",
        f"{agreeing} of {points}",
        f"{size}: {worst.series.title} at {minus(f'{far.x:g}')}, "
        f"{far.ours:.3g} for {far.papers:.3g}",
        figure.why,
    ]
    return f"| {' | '.join(cells)} |"


def not_run(figure: Figure) -> str:
    """Return the row of a figure that was not run."""
    return f"| {figure.number} | {link(figure)} | **not run** | | | |"


HEAD = (
    "| figure | | verdict | points that agree | largest difference ± standard error | why |\n"
    "|---|---|---|---|---|---|"
)


def link(figure: Figure) -> str:
    """Return a link to a figure's section."""
    kept = re.sub(r"[^\w\- ]", "", figure.title.lower())
    return f"[{figure.title}](#{kept.replace(' ', '-')})"
