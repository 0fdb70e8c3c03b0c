"""Active devices against γ on channels of a 3GPP urban microcell, recorded with Sionna."""

from experiments.compare import paired_at
from experiments.figure import Figure, Measured, PaperCurves, Scale
from experiments.runner import Runner
from experiments.selection import call, mean_active
from experiments.series import DC, DUAL_PURSUIT, MATCHING_PURSUIT

_ROUNDS = {"quick": 20, "paper": 200}
_DROPS = 20
"""Of the trace; its rounds are spread evenly over them."""
_MODEL = "TR 38.901 channels at 3.5 GHz"
_GAMMAS_DB = range(-35, 21, 5)


def measure(scale: Scale, runner: Runner) -> Measured:
    """Run every algorithm on the rounds of the trace."""
    points = {
        (each, float(gamma_db)): call(each, "umi", gamma_db, _ROUNDS[scale])
        for each in FIGURE.series
        for gamma_db in _GAMMAS_DB
    }
    setting = (
        f"`examples/sionna/umi.npz`: {_ROUNDS[scale]} rounds, P = σ² = 1, unit weights; rounds of "
        "the same drop of the users are not independent, so a sample is the mean over a drop"
    )
    together = _ROUNDS[scale] // _DROPS
    return mean_active(runner, FIGURE.name, points, FIGURE.pairs, setting, together)


def remarks(measured: Measured, papers: PaperCurves) -> list[str]:
    """Say how the algorithms compare on the same drops."""
    at = (-30, -20, -10, 0, 10)
    return [
        f"Not in the paper: {_MODEL} in place of its network. Gains differ by tens of dB, most "
        "users being indoors.",
        "- **Dual pursuit** minus matching pursuit on the same drops: "
        f"{paired_at(measured, DUAL_PURSUIT, MATCHING_PURSUIT, at)}; minus dc: "
        f"{paired_at(measured, DUAL_PURSUIT, DC, at)}.",
    ]


FIGURE = Figure(
    number=0,
    name="active_vs_gamma_umi",
    title="Active devices against the tolerance, 3GPP urban microcell",
    x_label="tolerance γ [dB]",
    y_label="mean number of active devices",
    size="K = 20, N = 6, P = σ² = 1",
    unit="drops",
    series={DUAL_PURSUIT: None, DC: None, MATCHING_PURSUIT: None},
    pairs=((DUAL_PURSUIT, MATCHING_PURSUIT), (DUAL_PURSUIT, DC)),
    measure=measure,
    remarks=remarks,
)
