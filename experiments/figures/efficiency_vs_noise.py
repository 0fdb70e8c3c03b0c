"""Over-the-air efficiency at the paper's largest tolerance against the noise variance σ².

Where a curve crosses the paper's value is the σ² that the paper would have to have, with one of two
readings of its noise. ``efficiency_vs_gamma`` then has it at all tolerances.
"""

from dataclasses import replace

from experiments.compare import plus_minus
from experiments.efficiency import FITTED_DB, LADDER, NOISES, fit, ladder, wanted
from experiments.figure import Curve, Figure, Measured, PaperCurves, Scale
from experiments.learning import LINEAR
from experiments.learning_curves import LINEAR_NOT_NETWORK
from experiments.runner import Runner
from experiments.series import MATCHING_PURSUIT, Series
from experiments.summary import curves
from lab.paper import SHIFT_DB

_OWN, _TOLERATED = NOISES
OWN = MATCHING_PURSUIT.at(_OWN)
TOLERATED = replace(OWN, line=":", marker="v", setting=_TOLERATED)
_SERIES = {OWN: None, TOLERATED: None}


def measure(scale: Scale, runner: Runner) -> Measured:
    """Train at every step of the ladder."""
    found = ladder(runner, scale)
    size = LINEAR[scale]
    setting = (
        f"CIFAR-10, {size['samples']:,} images, {size['rounds']} epochs, a new channel every "
        f"{size['coherence']}"
    )
    return Measured(
        curves({each: found[each.setting] for each in _SERIES}), setting, LINEAR_NOT_NETWORK
    )


def remarks(measured: Measured, papers: PaperCurves) -> list[str]:
    """Name the fitted numbers."""
    return [
        f"Not in the paper, which has ζ = {wanted():.3f} for matching pursuit at {FITTED_DB:g} dB "
        "and gives no σ². `efficiency_vs_gamma` has all tolerances with the numbers found here, "
        "and says what is certain and what is a guess.",
        *(_fitted(each, measured.curves[each]) for each in _SERIES),
        f"- *{_OWN.capitalize()}* differs so much between channels that ζ does too, from seed to "
        "seed.",
    ]


def _fitted(each: Series, curve: Curve) -> str:
    less, variance, more = (
        fit({x: point.value + errors * point.error for x, point in curve.items()})
        for errors in (-1, 0, 1)
    )
    low, high = LADDER[0], LADDER[-1]
    return (
        f"- *{each.setting.capitalize()}*: **σ² = {variance:.2g}** gives the paper's value; with ζ "
        f"one standard error lower or higher, {less:.2g} or {more:.2g}. At the ends of the ladder, "
        f"σ² = {low:g} and {high:g}, ζ is {plus_minus(curve[low])} and {plus_minus(curve[high])}."
    )


FIGURE = Figure(
    number=0,
    name="efficiency_vs_noise",
    title="Over-the-air efficiency against the noise variance",
    x_label="noise variance σ²",
    y_label="efficiency ζ",
    size=f"K = 20, N = 6, γ = {FITTED_DB:g} + {SHIFT_DB:g} dB",
    unit="seeds",
    series=_SERIES,
    measure=measure,
    remarks=remarks,
)
