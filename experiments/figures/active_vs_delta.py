"""Figure 1: the mean number of active devices against δ, iid channels, K = 20, N = 6."""

from dataclasses import replace

from experiments.compare import largest_difference
from experiments.figure import Curve, Figure, Measured, PaperCurves, Scale
from experiments.runner import Runner
from experiments.selection import call, mean_active
from experiments.series import MATCHING_PURSUIT, Series
from lab import paper

_CHANNELS: dict[Scale, int] = {"quick": 4000, "paper": 10_000}
_GAMMAS_DB: dict[Series, float] = {
    MATCHING_PURSUIT.at("γ = 5 dB"): 5.0,
    replace(MATCHING_PURSUIT, line=":", marker="o").at("γ = 0 dB"): 0.0,
}

_LARGE_DELTA, _PAPERS_CHANNELS = 0.9, 2000


def measure(scale: Scale, runner: Runner) -> Measured:
    """Run Algorithm 1 with every δ of the paper's."""
    papers = paper.curves(FIGURE.name)
    points = {
        (series, delta): call(series, "iid", gamma_db, _CHANNELS[scale], delta=delta)
        for series, gamma_db in _GAMMAS_DB.items()
        for delta in papers[str(FIGURE.series[series])]
    }
    return mean_active(runner, FIGURE.name, points)


def remarks(measured: Measured, papers: PaperCurves) -> list[str]:
    """Tell the two ranges of δ apart."""
    low, high = (
        max(
            largest_difference(_part(measured.curves[each], above), papers[str(name)])
            for each, name in FIGURE.series.items()
        )
        for above in (False, True)
    )
    return [
        f"- For δ < {_LARGE_DELTA:g} the largest difference is {low.size:.2f} devices: "
        f"{low.where('δ')}.",
        f"- For δ > {_LARGE_DELTA:g} it is {high.size:.2f}: {high.where('δ')}. From there on the "
        "paper's curve falls below what its own algorithm gives, by more than the noise of its "
        f"{_PAPERS_CHANNELS} channels. A plain loop of SVDs (`lab/oracles/plain_pursuit.py`) gives "
        "our numbers.",
    ]


def _part(curve: Curve, above: bool) -> Curve:
    return {delta: point for delta, point in curve.items() if (delta > _LARGE_DELTA) == above}


FIGURE = Figure(
    number=1,
    name="active_vs_delta",
    title="Active devices against δ, iid channels",
    x_label="δ",
    y_label="mean number of active devices",
    size="K = 20, N = 6",
    unit="channels",
    papers_count=_PAPERS_CHANNELS,
    series=dict(zip(_GAMMAS_DB, ("gamma_5_db", "gamma_0_db"), strict=True)),
    measure=measure,
    why=f"The paper's curve falls below what its own algorithm gives for δ > {_LARGE_DELTA:g}.",
    remarks=remarks,
)
