"""Figure 9: the mean number of active devices against γ, the paper's network, K = 20, N = 6."""

from experiments.compare import largest_difference
from experiments.figure import Curves, Figure, Measured, Scale
from experiments.runner import Runner
from experiments.selection import mean_active, point
from lab import paper
from lab.paper import SHIFT_DB

_CHANNELS: dict[Scale, dict[str, int]] = {
    "quick": {"": 500, "dc": 100},
    "paper": {"": 2000},
}
_SERIES = ("matching_pursuit", "dual_pursuit", "dc", "sdr", "sdr_served")


def measure(scale: Scale, runner: Runner) -> Measured:
    """Run every algorithm at the paper's γ, shifted."""
    gammas_db, counts = paper.curves(FIGURE.name)["matching_pursuit"], _CHANNELS[scale]
    points = {
        (series, gamma_db): point(series, gamma_db + SHIFT_DB, counts.get(series, counts[""]))
        for series in _SERIES
        for gamma_db in gammas_db
    }
    curves = mean_active(runner, FIGURE.name, "network", points, 250)
    fewer = f" ({counts['dc']} for dc)" if "dc" in counts else ""
    return Measured(
        curves,
        f"{counts['']} networks a point{fewer}, each with its own places, data sizes and fading; "
        "the paper does not say how many it has",
    )


def remarks(ours: Curves, papers: Curves) -> list[str]:
    """Say what the shift is for, and what differs beside it."""
    name = "matching_pursuit"
    pursuit = largest_difference(ours, {name: papers[name]})
    dc = largest_difference(ours, {"dc": papers["dc"]})
    return [
        f"The γ axis is the paper's; our runs are at γ + {SHIFT_DB:g} dB. The paper gives no scale "
        "of its weights φ, and γ means something only beside one: ours have mean one. The shift "
        "was fitted to the paper's matching pursuit, of 6, 6.5, 7, 7.5 and 8 dB.",
        f"- **Matching pursuit** is then within {pursuit.size:.2f} of a device of the paper at "
        f"every γ (the furthest {pursuit.where('γ')}).",
        f"- **dc** differs by up to {dc.size:.2f} ({dc.where('γ')}): as on iid channels, the "
        "paper's has probably not converged.",
        "- **sdr**, solved to convergence and read either way, serves more than the paper's.",
        "- **Dual pursuit** serves "
        + ", ".join(
            f"{ours['dual_pursuit'][g] / ours[name][g]:.2f} times matching pursuit at {g:g} dB"
            for g in (0, 5, 10, 15)
        )
        + ".",
    ]


FIGURE = Figure(
    name="active_vs_gamma_network",
    title="Active devices against the tolerance, the paper's network",
    x_label="tolerance γ on the paper's axis [dB]",
    y_label="mean number of active devices",
    measure=measure,
    remarks=remarks,
)
