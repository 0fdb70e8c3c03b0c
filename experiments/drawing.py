"""Pictures in one style: ours solid and filled, the paper's dashed and hollow."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from experiments.figure import Curves, Figure, label

_COLORS = {
    "perfect": "black",
    "dual_pursuit": "tab:red",
    "matching_pursuit": "tab:blue",
    "bidirectional": "tab:cyan",
    "dc": "tab:purple",
    "dc_clarabel": "tab:pink",
    "sdr": "tab:green",
    "gamma_5_db": "tab:blue",
    "gamma_0_db": "tab:orange",
}
"""A series without a colour is in the table only."""
_MARKERS = {
    "perfect": "d",
    "dual_pursuit": "o",
    "matching_pursuit": "s",
    "bidirectional": "v",
    "dc": "^",
    "dc_clarabel": "P",
    "sdr": "D",
}
_MOST_MARKERS = 15
_GREY = "0.35"


def draw(figure: Figure, ours: Curves, papers: Curves, file: Path) -> None:
    """Draw both."""
    count = len(figure.panels)
    picture = Picture(figsize=(6.4 if count == 1 else 9.6, 4.3), layout="constrained")
    panels = picture.subplots(1, count, sharey=True, squeeze=False)[0]
    for axes, (ending, title) in zip(panels, figure.panels.items(), strict=True):
        _draw_panel(axes, _of(ours, ending), _of(papers, ending))
        axes.set_xlabel(f"{figure.x_label} {title}".strip())
        if figure.log_y:
            axes.set_yscale("log")
        else:
            axes.yaxis.set_major_locator(MaxNLocator(steps=[1, 2, 5, 10]))
        axes.grid(alpha=0.25, linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel(figure.y_label)
    _legend(picture, panels[-1])
    picture.savefig(file, dpi=130, metadata={"Software": None})


def _of(curves: Curves, ending: str) -> Curves:
    return {
        series.removesuffix(ending): curve
        for series, curve in curves.items()
        if series.endswith(ending)
    }


def _draw_panel(axes: Axes, ours: Curves, papers: Curves) -> None:
    # What was run decides how far the picture goes.
    last = max(x for curve in ours.values() for x in curve)
    for series, color in _COLORS.items():
        for curves, mine in ((papers, False), (ours, True)):
            if series not in curves:
                continue
            points = sorted((x, y) for x, y in curves[series].items() if x <= last)
            axes.plot(
                [x for x, _ in points],
                [value for _, value in points],
                color=color,
                linestyle="-" if mine else "--",
                linewidth=1.6 if mine else 1.0,
                marker=_MARKERS.get(series, "o"),
                # Dual pursuit and dc often coincide: the small one in front.
                markersize=3.5 if series == "dual_pursuit" else 5.0,
                markerfacecolor=color if mine else "white",
                markevery=max(1, len(points) // _MOST_MARKERS),
                label=label(series) if mine or series not in ours else None,
                zorder=4 if series == "dual_pursuit" else 2 if mine else 3,
                alpha=1.0 if mine else 0.8,
            )


def _legend(picture: Picture, axes: Axes) -> None:
    labelled = [line for line in axes.get_lines() if not str(line.get_label()).startswith("_")]
    handles = [
        Line2D([], [], color=line.get_color(), marker=line.get_marker(), markersize=4.5)
        for line in labelled
    ]
    handles += [
        Line2D([], [], color=_GREY, linewidth=1.6, marker="o", markersize=4.5),
        Line2D([], [], color=_GREY, linestyle="--", linewidth=1.0, marker="o", markersize=4.5),
    ]
    handles[-1].set_markerfacecolor("white")
    picture.legend(
        handles,
        [*(str(line.get_label()) for line in labelled), "ours", "the paper's"],
        loc="outside right upper",
        frameon=False,
        fontsize=9,
    )
