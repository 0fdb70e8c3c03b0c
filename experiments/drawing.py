"""Pictures in one style: ours solid and filled, the paper's dashed and hollow.

Every picture states its size, its number of samples, and in what it is smaller than the paper's.
"""

from collections.abc import Mapping
from pathlib import Path
from textwrap import fill

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from experiments.figure import Curve, Figure, Measured, PaperCurves
from experiments.series import Series

_MAX_MARKERS = 15
_GREY = "0.35"


def draw(figure: Figure, measured: Measured, papers: PaperCurves, file: Path) -> None:
    """Draw our curves and the paper's."""
    panels = figure.panels or {"": figure.x_label}
    wide = len(panels) > 1
    picture = Picture(figsize=(10.4 if wide else 8.4, 4.7), layout="constrained")
    many = picture.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    drawn: dict[str, Series] = {}
    for axes, (panel, x_label) in zip(many, panels.items(), strict=True):
        ours = {
            series: curve
            for series, curve in measured.curves.items()
            if series.color and (not figure.panels or series.setting == panel)
        }
        _draw_panel(axes, ours, _compared(figure, ours, papers), figure.log_y)
        drawn |= {_name(figure, series): series for series in ours}
        axes.set_xlabel(x_label)
        if x_label.startswith("epoch"):
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        if figure.log_x:
            axes.set_xscale("log", base=2)
            axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        if figure.log_y:
            axes.set_yscale("log")
        else:
            axes.yaxis.set_major_locator(MaxNLocator(steps=[1, 2, 5, 10]))
        axes.grid(alpha=0.25, linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    many[0].set_ylabel(figure.y_label)
    _legend(picture, drawn, bool(papers))
    _caption(picture, figure, measured, 120 if wide else 100)
    picture.savefig(file, dpi=130, metadata={"Software": None})


def _name(figure: Figure, series: Series) -> str:
    return series.label if figure.panels else series.title


def _compared(
    figure: Figure, ours: Mapping[Series, Curve], papers: PaperCurves
) -> dict[Series, dict[float, float]]:
    """Return the paper's curves, each by the first of our series that is compared with it."""
    first: dict[str, Series] = {}
    for series in ours:
        name = figure.series[series]
        if name is not None and name in papers:
            first.setdefault(name, series)
    return {series: papers[name] for name, series in first.items()}


def _draw_panel(
    axes: Axes,
    ours: Mapping[Series, Curve],
    papers: Mapping[Series, dict[float, float]],
    log_y: bool,
) -> None:
    # Draw as far as was run.
    last = max(x for curve in ours.values() for x in curve)
    for series, curve in ours.items():
        if series in papers:
            _draw_papers(axes, series, {x: y for x, y in papers[series].items() if x <= last})
        _draw_ours(axes, series, curve, log_y)


def _draw_papers(axes: Axes, series: Series, curve: dict[float, float]) -> None:
    axes.plot(
        *zip(*sorted(curve.items()), strict=True),
        color=series.color,
        linestyle="--",
        linewidth=1.0,
        marker=series.marker,
        markersize=5.0,
        markerfacecolor="white",
        markevery=_markevery(len(curve)),
        alpha=0.8,
        zorder=3,
    )


def _draw_ours(axes: Axes, series: Series, curve: Curve, log_y: bool) -> None:
    """Draw a line; standard errors as bars, or as a shade if there are many points; a band.

    On a logarithmic axis the standard error is that of the logarithm, so that bars stay positive.
    """
    xs = np.array(sorted(curve))
    values, errors = np.array([(curve[x].value, curve[x].error) for x in xs.tolist()]).T
    low, high = values - errors, values + errors
    if log_y:
        low, high = values * np.exp(-errors / values), values * np.exp(errors / values)
    # Dual pursuit and dc often coincide: the small one goes in front.
    front = series.algorithm in ("dual_pursuit", "frontier")
    axes.plot(
        xs,
        values,
        color=series.color,
        linestyle=series.line,
        linewidth=1.6,
        marker=series.marker,
        markersize=3.5 if front else 5.0,
        markevery=_markevery(xs.size),
        zorder=4 if front else 2,
    )
    if xs.size > _MAX_MARKERS:
        axes.fill_between(xs, low, high, color=series.color, alpha=0.3, linewidth=0)
    else:
        bars = (values - low, high - values)
        axes.errorbar(
            xs, values, bars, fmt="none", ecolor=series.color, elinewidth=1.2, capsize=2.5
        )
    bands = [(x, *band) for x in xs.tolist() if (band := curve[x].band) is not None]
    if bands:
        axes.fill_between(*np.array(bands).T, color=series.color, alpha=0.2, linewidth=0)


def _markevery(points: int) -> int:
    return max(1, points // _MAX_MARKERS)


def _legend(picture: Picture, drawn: Mapping[str, Series], papers: bool) -> None:
    handles = [
        Line2D(
            [],
            [],
            color=series.color,
            linestyle=series.line,
            marker=series.marker,
            markersize=4.5,
            label=name,
        )
        for name, series in drawn.items()
    ]
    if papers:
        handles += [
            Line2D([], [], color=_GREY, linewidth=1.6, marker="o", markersize=4.5, label="ours"),
            Line2D(
                [],
                [],
                color=_GREY,
                linestyle="--",
                linewidth=1.0,
                marker="o",
                markersize=4.5,
                markerfacecolor="white",
                label="the paper's",
            ),
        ]
    picture.legend(handles=handles, loc="outside right center", frameon=False, fontsize=8.5)


def _caption(picture: Picture, figure: Figure, measured: Measured, width: int) -> None:
    """Write what was run above the picture, and below it in what it is smaller than the paper's."""
    curves = [curve for each, curve in measured.curves.items() if each.color]
    errors = [point.error for curve in curves for point in curve.values()]
    errors = [error for error in errors if np.isfinite(error)]
    marks = dict.fromkeys("shade" if len(curve) > _MAX_MARKERS else "bars" for curve in curves)
    shown = f"{' and '.join(marks)}: ± one standard error" if errors else "standard errors unknown"
    if errors and not figure.log_y:
        shown += f", at most {max(errors):.2g}"
    # How the learning was set up; for schedules, K, N and γ are enough.
    setting = measured.setting.partition(";")[0] if figure.unit == "seeds" else ""
    said = "; ".join(part for part in (figure.sample(measured), setting, shown) if part)
    text = f"{figure.title}\n{fill(said, width)}"
    picture.suptitle(text, fontsize=9, x=0.01, ha="left")
    if smaller := figure.shortfall(measured):
        text = fill(f"Smaller than the paper's run: {smaller}", width)
        picture.supxlabel(text, fontsize=9, color="crimson", x=0.01, ha="left")
