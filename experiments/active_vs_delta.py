"""Figure 2: the mean number of active devices against δ, iid channels, K = 20, N = 6."""

from collections.abc import Callable

from experiments.compare import largest_difference
from experiments.figure import Curves, Figure, Measured, Scale
from experiments.runner import Runner
from experiments.selection import mean_active
from lab import paper

_CHANNELS: dict[Scale, int] = {"quick": 4000, "paper": 10_000}
_GAMMAS_DB = {"gamma_5_db": 5.0, "gamma_0_db": 0.0}


def measure(scale: Scale, runner: Runner) -> Measured:
    """Run Algorithm 1 with every δ of the paper's."""
    count = _CHANNELS[scale]
    points = {
        (series, delta): {
            "algorithm": "matching_pursuit",
            "parameters": {"delta": delta},
            "gamma_db": _GAMMAS_DB[series],
            "count": count,
        }
        for series, curve in paper.curves(FIGURE.name).items()
        for delta in curve
    }
    curves = mean_active(runner, FIGURE.name, "iid", points, 1000)
    return Measured(curves, f"{count} channels a point; the paper has 2000")


def remarks(ours: Curves, papers: Curves) -> list[str]:
    """Tell the two ranges of δ apart."""
    low = largest_difference(ours, _where(papers, lambda delta: delta < 0.9))
    high = largest_difference(ours, _where(papers, lambda delta: delta > 0.9))
    return [
        f"- For δ < 0.9 the largest difference is {low.size:.2f} of a device ({low.where('δ')}).",
        f"- For δ > 0.9 it is {high.size:.2f} ({high.where('δ')}): from there on the paper's curve "
        "falls below its own Algorithm 1, by more than the noise of its 2000 channels. A plain "
        "loop of SVDs (`lab/oracles/plain_pursuit.py`) gives our numbers.",
    ]


def _where(curves: Curves, inside: Callable[[float], bool]) -> Curves:
    return {
        series: {delta: value for delta, value in curve.items() if inside(delta)}
        for series, curve in curves.items()
    }


FIGURE = Figure(
    name="active_vs_delta",
    title="Active devices against δ, iid channels",
    x_label="δ",
    y_label="mean number of active devices",
    measure=measure,
    remarks=remarks,
)
