"""Figure 3: seconds per schedule against γ, iid channels, K = 20, N = 6."""

from experiments.compare import minus, ratios
from experiments.figure import Figure, Measured, PaperCurves, Scale
from experiments.runner import Runner
from experiments.selection import Counts, call, count_of, median_seconds
from experiments.series import DC, DC_CLARABEL, DUAL_PURSUIT, MATCHING_PURSUIT, SDR
from lab import paper

CHANNELS: Counts = {
    "quick": {None: 40, DC_CLARABEL: 5},
    "paper": {None: 200, DC_CLARABEL: 10},
}
_SERIES = {
    MATCHING_PURSUIT: "matching_pursuit",
    DUAL_PURSUIT: None,
    SDR: None,
    DC: "dc",
    DC_CLARABEL: None,
}
SETTING = "medians of one core's seconds, one schedule after the other"


def measure(scale: Scale, runner: Runner) -> Measured:
    """Time every algorithm, one after the other."""
    points = {
        (each, gamma_db): call(each, "iid", gamma_db, count_of(CHANNELS, scale, each))
        for gamma_db in paper.curves(FIGURE.name)["dc"]
        for each in _SERIES
        # The general solver is slow: every fifth decibel is enough.
        if each != DC_CLARABEL or gamma_db % 5 == 0
    }
    return median_seconds(runner, FIGURE.name, points, SETTING, quick(scale))


def quick(scale: Scale) -> str:
    """Return in what a quick run is smaller; the paper does not give its number of channels."""
    return "" if scale == "paper" else "a quick run, with fewer channels than a full one"


def remarks(measured: Measured, papers: PaperCurves) -> list[str]:
    """Return the ratios."""
    least = min(min(curve) for curve in measured.curves.values())
    return [
        "Seconds depend on the machine, so compare the ratios within one run. The paper's are "
        "those of its own run, on its own machine. Geometric means over the points that two "
        "curves share:",
        *ratios(measured.curves, papers, FIGURE.series),
        f"- At {minus(f'{least:g}')} dB ours are fast because most devices cannot be served even "
        "alone, and leave the programmes first.",
        "- The paper's dc solves its programmes by a general solver; ours by a compiled "
        f"interior-point method. *{DC_CLARABEL.label}* is our dc with a general solver.",
    ]


FIGURE = Figure(
    number=3,
    name="runtime_vs_gamma_iid",
    title="Seconds per schedule against the tolerance, iid channels",
    x_label="tolerance γ [dB]",
    y_label="seconds (median)",
    size="K = 20, N = 6",
    unit="channels",
    series=_SERIES,
    measure=measure,
    why="Another machine and compiled solvers; ratios within one run are compared in the section.",
    remarks=remarks,
    log_y=True,
)
