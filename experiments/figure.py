"""What a figure is: where its curves come from, how it is drawn, what is to be said of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from experiments.runner import Runner

Scale = Literal["quick", "paper"]
Backend = Literal["loky", "dask", "ray", "sequential"]
Curves = dict[str, dict[float, float]]
"""Series → x → value, as :func:`lab.paper.curves` returns them."""


_LABELS = {
    "matching_pursuit": "matching pursuit",
    "matching_pursuit_small": "matching pursuit, δ = 0.1",
    "matching_pursuit_default": "matching pursuit, δ = 0.55",
    "dual_pursuit": "dual pursuit",
    "dc_clarabel": "dc, Clarabel",
    "sdr": "sdr, prefix",
    "sdr_served": "sdr, served",
    "gamma_5_db": "γ = 5 dB",
    "gamma_0_db": "γ = 0 dB",
}


def label(series: str) -> str:
    """Return a series' name for people."""
    return _LABELS.get(series, series)


@dataclass(frozen=True)
class Measured:
    """What a figure's run gave.

    Parameters
    ----------
    curves
        Ours. A series that the paper has too has its name there.
    setting
        What was run, in words: numbers of channels, images, epochs.
    """

    curves: Curves
    setting: str


@dataclass(frozen=True)
class Figure:
    """One figure of the paper.

    Parameters
    ----------
    name
        That of the paper's points in :mod:`experiments.paper`, and of what is written.
    title, x_label, y_label
        For people.
    measure
        Runs it.
    remarks
        What is to be said of our curves beside the paper's, from both: lines of Markdown.
    log_y
        Values are compared as ratios, and drawn on a logarithmic axis.
    panels
        Ending of the series' names → what is on the x axis, for a figure of several panels.
    """

    name: str
    title: str
    x_label: str
    y_label: str
    measure: "Callable[[Scale, Runner], Measured]"
    remarks: Callable[[Curves, Curves], list[str]] = lambda ours, paper: []
    log_y: bool = False
    panels: Mapping[str, str] = field(default_factory=lambda: {"": ""})
