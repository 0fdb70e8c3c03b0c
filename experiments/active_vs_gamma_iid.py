"""Figure 3: the mean number of active devices against γ, iid channels, K = 20, N = 6."""

from experiments.figure import Curves, Figure, Measured, Scale
from experiments.runner import Runner
from experiments.selection import FITTED_DELTA, SMALL_DELTA, mean_active, point
from lab import paper

_CHANNELS: dict[Scale, dict[str, int]] = {
    "quick": {"": 1000, "dc": 100, "sdr": 200, "sdr_served": 200},
    "paper": {"": 2000},
}
_SERIES = {
    "matching_pursuit": ("matching_pursuit_fitted", "matching_pursuit"),
    "matching_pursuit_small": ("matching_pursuit", "matching_pursuit"),
    "matching_pursuit_default": ("matching_pursuit_default", "matching_pursuit"),
    "bidirectional": ("bidirectional", "bidirectional"),
    "dual_pursuit": ("dual_pursuit", "matching_pursuit"),
    "dc": ("dc", "dc"),
    "sdr": ("sdr", "sdr"),
    "sdr_served": ("sdr_served", "sdr"),
}
"""Series → the algorithm, and the paper's series whose γ it is run at."""


def measure(scale: Scale, runner: Runner) -> Measured:
    """Run every algorithm at the γ of the paper's."""
    papers, counts = paper.curves(FIGURE.name), _CHANNELS[scale]
    points = {
        (series, gamma_db): point(algorithm, gamma_db, counts.get(series, counts[""]))
        for series, (algorithm, at) in _SERIES.items()
        for gamma_db in papers[at]
    }
    curves = mean_active(runner, FIGURE.name, "iid", points, 250)
    fewer = ", ".join(f"{count} for {name}" for name, count in counts.items() if name)
    return Measured(
        curves,
        f"{counts['']} channels a point{' (' + fewer + ')' if fewer else ''}; the paper has 2000",
    )


def remarks(ours: Curves, papers: Curves) -> list[str]:
    """Say which δ the paper has, and what of it cannot be."""
    pursuit, usual = ours["matching_pursuit"], ours["matching_pursuit_default"]
    small, theirs = ours["matching_pursuit_small"], papers["matching_pursuit"]
    far = ", ".join(
        f"{gamma_db:g} dB ({pursuit[gamma_db] - value:+.2f})"
        for gamma_db, value in theirs.items()
        if abs(pursuit[gamma_db] - value) > 0.3
    )
    bidirectional = max(
        abs(usual[gamma_db] - papers["bidirectional"][gamma_db]) for gamma_db in (-7, -4, -1, 2)
    )
    same = max(abs(usual[gamma_db] - value) for gamma_db, value in ours["bidirectional"].items())
    delta_5 = max(paper.curves("active_vs_delta")["gamma_5_db"].values())
    return [
        f"- **Matching pursuit** is drawn with δ = {FITTED_DELTA}: fitted to the paper's curve, "
        "the closest of twelve tried from 0.01 to 0.7, since the paper gives no δ here. More than "
        "0.3 apart even so: "
        f"{far or 'at no γ'}.",
        f"- δ = {SMALL_DELTA}, small as the paper advises, gives {small[-4]:.2f} at −4 dB (the "
        f"paper has {theirs[-4]:g}) but {small[-7]:.2f} at −7 dB ({theirs[-7]:g}) and "
        f"{small[-1]:.2f} at −1 dB ({theirs[-1]:g}).",
        f"- At −10 dB Algorithm 1 serves {pursuit[-10]:.2f} devices: on many channels nobody can "
        "be served. The paper plots 1 for three of its curves, as if the last device always could.",
        f"- At 5 dB the paper's {theirs[5]:g} is above every δ of its own `active_vs_delta`, the "
        f"largest of which is {delta_5:.2f}. From there on its two pursuit curves are the same "
        "round numbers (17.5, 19, 19.6, 20), and at 14 dB above its dc (19.9), which is nowhere "
        "else below them.",
        f"- **Bidirectional**: the paper's points from −7 to 2 dB lie within {bidirectional:.2f} "
        "of the *backward* search with δ = 0.55. On the same channels with the same δ the two "
        f"searches differ by at most {same:.2f} here: what the paper plots as the gain of "
        "the extension may be that of another δ.",
        "- **dc**: ours, solved to 10⁻³, serves more than the paper's, which has probably not "
        "converged (we have no run of it to see): "
        + ", ".join(f"{ours['dc'][g]:.1f} at {g:g} dB ({papers['dc'][g]:g})" for g in (-4, -1, 2))
        + ".",
        "- **sdr** depends on how the set is read off the relaxation, which the paper does not "
        "say. `prefix` (up to the first device in the order of the relaxation that its receiver "
        "does not serve) is drawn; `served` (everyone whom the receiver serves) is in the table. "
        "Neither falls as far as the paper's, and both are solved to convergence.",
        f"- **Dual pursuit** serves {_rank(ours)}; "
        + ", ".join(
            f"{ours['dual_pursuit'][g] / pursuit[g]:.2f} times matching pursuit at {g:g} dB"
            for g in (-7, -4, -1, 2)
        )
        + ".",
    ]


def _rank(ours: Curves) -> str:
    """Say at how many γ nobody serves more than dual pursuit."""
    dual = ours["dual_pursuit"]
    others = [curve for series, curve in ours.items() if series != "dual_pursuit"]
    most = [
        gamma_db
        for gamma_db, value in dual.items()
        if value >= max(curve.get(gamma_db, 0.0) for curve in others)
    ]
    return f"most, or as many as any, at {len(most)} of {len(dual)} γ"


FIGURE = Figure(
    name="active_vs_gamma_iid",
    title="Active devices against the tolerance, iid channels",
    x_label="tolerance γ [dB]",
    y_label="mean number of active devices",
    measure=measure,
    remarks=remarks,
)
