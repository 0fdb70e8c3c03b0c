"""Figure 4: seconds for one schedule against γ, iid channels, K = 20, N = 6."""

from experiments.compare import ratios
from experiments.figure import Curves, Figure, Measured, Scale
from experiments.runner import Runner
from experiments.selection import median_seconds, point
from lab import paper

_CHANNELS: dict[Scale, dict[str, int]] = {
    "quick": {"": 40, "dc_clarabel": 5},
    "paper": {"": 200, "dc_clarabel": 10},
}
_SERIES = ("matching_pursuit", "dual_pursuit", "dc", "sdr", "dc_clarabel")


def measure(scale: Scale, runner: Runner) -> Measured:
    """Time every algorithm, one after the other."""
    counts = _CHANNELS[scale]
    points = {
        (series, gamma_db): point(series, gamma_db, counts.get(series, counts[""]), model="iid")
        for gamma_db in paper.curves(FIGURE.name)["dc"]
        for series in _SERIES
        # The general solver is slow, and a curve of it needs no point a decibel.
        if series != "dc_clarabel" or gamma_db % 5 == 0
    }
    return Measured(
        median_seconds(runner, FIGURE.name, points),
        f"medians over {counts['']} channels a point, {counts['dc_clarabel']} for dc with Clarabel "
        "and that at every fifth decibel; one after the other, seconds of one core",
    )


def remarks(ours: Curves, papers: Curves) -> list[str]:
    """Return the ratios."""
    return [
        "Seconds depend on the machine, so the ratios within one run are what counts. The paper's "
        "are those of its own run, on its own machine. Geometric means over the points that two "
        "curves share:",
        *ratios(ours, papers),
        "- At −10 dB ours are fast because most devices cannot be served even alone, and leave "
        "the programmes first.",
        "- The paper's dc solves its programmes by a general solver; ours by a compiled "
        "interior-point method. *dc, Clarabel* is our dc with a general solver.",
    ]


FIGURE = Figure(
    name="runtime_vs_gamma_iid",
    title="Seconds for one schedule against the tolerance, iid channels",
    x_label="tolerance γ [dB]",
    y_label="seconds",
    measure=measure,
    remarks=remarks,
    log_y=True,
)
