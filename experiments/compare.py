"""Our curves next to the paper's."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from experiments.figure import Curve, Curves, Measured, PaperCurves, Point
from experiments.series import Series


class Difference(NamedTuple):
    """Where ours and the paper's are furthest apart."""

    size: float
    x: float
    ours: float
    papers: float

    def where(self, axis: str) -> str:
        """Return the place in words."""
        return f"at {axis} = {self.x:g} ours is {self.ours:.2f}, the paper's {self.papers:.2f}"


def largest_difference(
    ours: Curve, papers: Mapping[float, float], *, ratio: bool = False
) -> Difference:
    """Return the largest difference, or ratio, over the points that both have."""

    def size(mine: float, theirs: float) -> float:
        return max(mine / theirs, theirs / mine) if ratio else abs(mine - theirs)

    return max(
        Difference(size(ours[x].value, value), x, ours[x].value, value)
        for x, value in papers.items()
        if x in ours
    )


def ratios(ours: Curves, papers: PaperCurves, names: Mapping[Series, str | None]) -> list[str]:
    """Return, as lines of Markdown, how many times the seconds of matching pursuit others take.

    For every series this is the geometric mean over the points that it shares with matching
    pursuit, the first series. The last column is the paper's seconds over ours.
    """
    lines = ["", "| | times matching pursuit, ours | paper's | paper's seconds over ours |"]
    lines.append("|---|---|---|---|")
    reference = next(iter(ours))
    of_paper = {series: papers.get(names[series] or "", {}) for series in ours}
    for series, curve in ours.items():
        cells = [
            _mean_ratio(_values(curve), _values(ours[reference])),
            _mean_ratio(of_paper[series], of_paper[reference]),
            _mean_ratio(of_paper[series], _values(curve)),
        ]
        lines.append(f"| {series.label} | {' | '.join(cells)} |")
    return [*lines, ""]


def paired_at(measured: Measured, one: Series, other: Series, xs: tuple[float, ...]) -> str:
    """Return paired differences at some x, in words."""
    curve = measured.paired[one, other]
    return ", ".join(f"{plus_minus(curve[x], sign=True)} at {minus(f'{x:g}')} dB" for x in xs)


def plus_minus(point: Point, *, sign: bool = False) -> str:
    """Return a value ± its standard error, to the error's second digit."""
    plus = "+" if sign else ""
    if not np.isfinite(point.error):
        return f"{point.value:{plus}.4g}"
    digits = 2 if point.error == 0 else max(0, 1 - int(np.floor(np.log10(point.error))))
    if digits > 5:
        return f"{point.value:{plus}.3g} ± {point.error:.2g}"
    return minus(f"{point.value:{plus}.{digits}f} ± {point.error:.{digits}f}")


def minus(text: str) -> str:
    """Return a number with a minus sign in place of a hyphen."""
    return text.replace("-", "−")


def rounded(value: float) -> str:
    """Return a ratio to three digits, without exponents."""
    return f"{float(f'{value:.3g}'):,g}"


def _values(curve: Curve) -> dict[float, float]:
    return {x: point.value for x, point in curve.items()}


def _mean_ratio(one: Mapping[float, float], other: Mapping[float, float]) -> str:
    logs = [np.log(one[x] / other[x]) for x in one if x in other]
    return rounded(float(np.exp(np.mean(logs)))) if logs else ""
