"""Figure 9: seconds per schedule against N (K = 20) and K (N = 6), the paper's network."""

from experiments.compare import ratios
from experiments.figure import Figure, Measured, PaperCurves, Scale
from experiments.figures import runtime_vs_gamma_iid
from experiments.figures.runtime_vs_gamma_iid import CHANNELS, SETTING, quick
from experiments.runner import Runner
from experiments.selection import call, count_of, median_seconds
from experiments.series import DC, DC_CLARABEL, DUAL_PURSUIT, MATCHING_PURSUIT, SDR
from lab import paper
from lab.paper import SHIFT_DB

_PAPERS = {
    MATCHING_PURSUIT: "matching_pursuit",
    DUAL_PURSUIT: None,
    SDR: "sdr",
    DC: "dc",
    DC_CLARABEL: None,
}
_SIZES = ("antennas", "devices")
_SERIES = {
    each.at(size): f"{name}_vs_{size}" if name else None
    for size in _SIZES
    for each, name in _PAPERS.items()
}
_GAMMA_DB = 0.0
"""The paper's."""


def measure(scale: Scale, runner: Runner) -> Measured:
    """Time every algorithm, one after the other."""
    papers = paper.curves(FIGURE.name)
    points = {
        (each, size): call(
            each,
            "network",
            _GAMMA_DB + SHIFT_DB,
            count_of(CHANNELS, scale, each),
            **{each.setting: int(size)},
        )
        for each in _SERIES
        for size in papers[f"dc_vs_{each.setting}"]
        if each != DC_CLARABEL.at(each.setting) or int(size) in (6, 12, 20, 30, 45)
    }
    return median_seconds(runner, FIGURE.name, points, SETTING, quick(scale))


def remarks(measured: Measured, papers: PaperCurves) -> list[str]:
    """Return the ratios."""
    lines = []
    for size in _SIZES:
        lines.append(f"Against the number of {size}:")
        some = {each: curve for each, curve in measured.curves.items() if each.setting == size}
        lines += ratios(some, papers, FIGURE.series)
    return lines


FIGURE = Figure(
    number=9,
    name="runtime_vs_size",
    title="Seconds per schedule against the size of the paper's network",
    x_label="size",
    y_label="seconds (median)",
    size=f"left: K = 20, right: N = 6; γ = {_GAMMA_DB:g} + {SHIFT_DB:g} dB",
    unit="networks",
    series=_SERIES,
    measure=measure,
    why=f"As in figure {runtime_vs_gamma_iid.FIGURE.number}.",
    remarks=remarks,
    log_y=True,
    panels={"antennas": "number of antennas N", "devices": "number of devices K"},
)
