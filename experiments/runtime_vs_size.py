"""Figure 10: seconds for one schedule against N (K = 20) and K (N = 6), the paper's network."""

from experiments.compare import ratios
from experiments.figure import Curves, Figure, Measured, Scale
from experiments.runner import Runner
from experiments.selection import median_seconds, point
from lab import paper
from lab.paper import SHIFT_DB

_CHANNELS: dict[Scale, dict[str, int]] = {
    "quick": {"": 40, "dc_clarabel": 2},
    "paper": {"": 200, "dc_clarabel": 10},
}
_SERIES = ("matching_pursuit", "dual_pursuit", "dc", "sdr", "dc_clarabel")
_SIZES = {"antennas": "_vs_antennas", "devices": "_vs_devices"}
_GAMMA_DB = 0.0
"""The paper's."""


def measure(scale: Scale, runner: Runner) -> Measured:
    """Time every algorithm, one after the other."""
    counts, papers = _CHANNELS[scale], paper.curves(FIGURE.name)
    points = {
        (series + ending, size): point(
            series,
            _GAMMA_DB + SHIFT_DB,
            counts.get(series, counts[""]),
            model="network",
            **{name: int(size)},
        )
        for name, ending in _SIZES.items()
        for size in papers["dc" + ending]
        for series in _SERIES
        if series != "dc_clarabel" or int(size) in (6, 12, 20, 30, 45)
    }
    return Measured(
        median_seconds(runner, FIGURE.name, points),
        f"medians over {counts['']} networks a point, {counts['dc_clarabel']} for dc with Clarabel "
        f"at some of them, γ = {_GAMMA_DB:g} + {SHIFT_DB:g} dB; one after the other, seconds of "
        "one core",
    )


def remarks(ours: Curves, papers: Curves) -> list[str]:
    """Return the ratios."""
    lines = []
    for name, ending in _SIZES.items():
        lines.append(f"Against the number of {name}:")
        some = [
            {
                series.removesuffix(ending): curve
                for series, curve in curves.items()
                if series.endswith(ending)
            }
            for curves in (ours, papers)
        ]
        lines += ratios(*some)
    return lines


FIGURE = Figure(
    name="runtime_vs_size",
    title="Seconds for one schedule against the size of the network",
    x_label="number of",
    y_label="seconds",
    measure=measure,
    remarks=remarks,
    log_y=True,
    panels={ending: name for name, ending in _SIZES.items()},
)
