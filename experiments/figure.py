"""What a figure is: its curves, how they are measured, how they are drawn, and what to note."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import nan
from typing import TYPE_CHECKING, Literal

from experiments.series import Series

if TYPE_CHECKING:
    from experiments.runner import Runner

Scale = Literal["quick", "paper"]
Backend = Literal["loky", "dask", "ray", "sequential"]


@dataclass(frozen=True)
class Point:
    """One measured value.

    Parameters
    ----------
    value
        A mean or a median over ``count`` channels, networks or seeds.
    error
        Its standard error; NaN if unknown.
    band
        Lower and upper limit between which the true value is known to lie, such as the proven
        bounds of an optimum; drawn as a shaded band.
    """

    value: float
    error: float = nan
    count: int = 0
    band: tuple[float, float] | None = None


Curve = dict[float, Point]
Curves = dict[Series, Curve]
Pair = tuple[Series, Series]
PaperCurves = dict[str, dict[float, float]]
"""Name → x → value, as :func:`lab.paper.curves` returns them."""


@dataclass(frozen=True)
class Measured:
    """The result of a figure's run.

    Parameters
    ----------
    curves
        One per series.
    setting
        What was run, in words, beyond what :attr:`Figure.size` and the counts say.
    smaller
        In what the run is smaller than the paper's, other than the number of samples per point:
        ``"4000 of 50,000 images"``; empty if in nothing.
    paired
        (one, other) → x → mean of one − other over the same channels or seeds.
    """

    curves: Curves
    setting: str = ""
    smaller: str = ""
    paired: dict[Pair, Curve] = field(default_factory=dict)


@dataclass(frozen=True)
class Figure:
    """One figure.

    Parameters
    ----------
    number
        Its number in the paper, by which figures are sorted; 0 for a figure of our own, which
        comes after those of the paper.
    name
        Its module's, the name of the paper's points in :mod:`lab.paper`, and of the files written.
    title, x_label, y_label
        For people.
    size
        Numbers of devices and antennas, as the picture states them: ``"K = 20, N = 6"``.
    unit
        What ``Point.count`` counts: ``"channels"``, ``"networks"``, ``"seeds"``.
    series
        Every series, in the order of the legend → the paper's curve that it is compared with, or
        None.
    measure
        Runs it.
    remarks
        Notes on our curves next to the paper's: lines of Markdown.
    papers_count
        How many of ``unit`` the paper has per point; None if it does not say.
    pairs
        Pairs of series whose paired difference is reported.
    log_y
        Values are compared as ratios, and drawn on a logarithmic axis.
    log_x
        Drawn on an axis of powers of two.
    why
        Why it differs from the paper's, in a sentence for the table of verdicts.
    panels
        Setting of the series → label of the x axis, for a figure with several panels.
    fitted
        The x of points to which a number was fitted: that they agree is no evidence.
    """

    number: int
    name: str
    title: str
    x_label: str
    y_label: str
    size: str
    unit: str
    series: Mapping[Series, str | None]
    measure: "Callable[[Scale, Runner], Measured]"
    remarks: Callable[[Measured, PaperCurves], list[str]] = lambda measured, papers: []
    papers_count: int | None = None
    pairs: tuple[Pair, ...] = ()
    log_y: bool = False
    log_x: bool = False
    why: str = ""
    panels: Mapping[str, str] = field(default_factory=dict)
    fitted: tuple[float, ...] = ()

    def scale(self, scale: str) -> str:
        """Return what to call the scale of a run: a figure of our own has no paper's."""
        return "full" if scale == "paper" and not self.number else scale

    def sample(self, measured: Measured) -> str:
        """Return the size and the number of samples, in words."""
        counts = sorted({point.count for point in points_of(measured)})
        many = " to ".join(f"{count:,}" for count in dict.fromkeys([counts[0], counts[-1]]))
        return f"{self.size}; {many} {self.unit} per point"

    def shortfall(self, measured: Measured) -> str:
        """Return in what the run is smaller than the paper's; empty if in nothing."""
        least = min(point.count for point in points_of(measured))
        fewer = []
        if self.papers_count is not None and least < self.papers_count:
            fewer.append(f"{least:,} of {self.papers_count:,} {self.unit} per point")
        return ", ".join([*fewer, *([measured.smaller] if measured.smaller else [])])


def points_of(measured: Measured) -> list[Point]:
    """Return the points of all curves."""
    return [point for curve in measured.curves.values() for point in curve.values()]
