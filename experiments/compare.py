"""Our curves beside the paper's."""

from typing import NamedTuple

import numpy as np

from experiments.figure import Curves, label


class Difference(NamedTuple):
    """Where ours and the paper's are furthest apart."""

    size: float
    series: str
    x: float
    ours: float
    papers: float

    def where(self, axis: str) -> str:
        """Return the place in words."""
        return f"{axis} = {self.x:g}, {self.ours:.2f} for {self.papers:.2f}"


def largest_difference(ours: Curves, papers: Curves, *, ratio: bool = False) -> Difference:
    """Return the largest difference, or ratio, over the points that both have."""

    def size(mine: float, theirs: float) -> float:
        return max(mine / theirs, theirs / mine) if ratio else abs(mine - theirs)

    return max(
        Difference(size(ours[series][x], value), series, x, ours[series][x], value)
        for series, curve in papers.items()
        for x, value in curve.items()
        if x in ours.get(series, {})
    )


def ratios(ours: Curves, papers: Curves) -> list[str]:
    """Return, as lines of Markdown, how many times the seconds of matching pursuit others take.

    For every series the geometric mean over the points that it shares with matching pursuit; and
    the paper's seconds over ours where both have the series.
    """
    lines = ["", "| | times matching pursuit, ours | paper's | paper's seconds over ours |"]
    lines.append("|---|---|---|---|")
    reference = "matching_pursuit"
    for series in ours:
        cells = [_mean_ratio(curves.get(series), curves[reference]) for curves in (ours, papers)]
        cells.append(_mean_ratio(papers.get(series), ours[series]))
        lines.append(f"| {label(series)} | {' | '.join(cells)} |")
    return [*lines, ""]


def _mean_ratio(one: dict[float, float] | None, other: dict[float, float]) -> str:
    if one is None:
        return ""
    logs = [np.log(one[x] / other[x]) for x in one if x in other]
    return rounded(float(np.exp(np.mean(logs))))


def rounded(value: float) -> str:
    """Return a ratio to three digits, without exponents."""
    return f"{float(f'{value:.3g}'):,g}"
