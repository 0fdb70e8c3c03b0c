"""Over-the-air efficiency at the paper's largest tolerance against the noise variance σ².

Where a curve crosses the paper's value is the σ² that the paper would have to have, with one of two
readings of its noise.
"""

from dataclasses import replace

from experiments.compare import plus_minus
from experiments.efficiency import FITTED_DB, LADDER, NOISES, fit, ladder
from experiments.figure import Curve, Figure, Measured, PaperCurves, Scale
from experiments.learning import LINEAR, NOISE_VARIANCE
from experiments.learning_curves import LINEAR_NOT_NETWORK
from experiments.runner import Runner
from experiments.series import MATCHING_PURSUIT, Series
from experiments.summary import curves
from lab import paper
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
    """Name the fitted numbers, and say what is certain and what is a guess."""
    wanted = paper.curves("efficiency_vs_gamma")["matching_pursuit"][FITTED_DB]
    return [
        f"Not in the paper, which has ζ = {wanted:.3f} for matching pursuit at {FITTED_DB:g} dB "
        f"and gives no σ². In `efficiency_vs_gamma` ours is {NOISE_VARIANCE:g}, and ζ does not "
        "fall.",
        *(_fitted(each, measured.curves[each], wanted) for each in _SERIES),
        "- *Noise of the schedule* has the error E that the schedule attains, as the air has. It "
        "differs so much between channels that ζ does too, from seed to seed. *Noise as tolerated* "
        "has the variance that γ tolerates, whatever the schedule attains.",
        "- **Certain**: the paper states neither σ² nor P nor ε nor the scale of φ; it sends "
        "models, not updates, in six rounds of ten epochs. With either noise its σ² is larger than "
        f"{NOISE_VARIANCE:g}.",
        "- **Nearly certain**: each of its points is a mean of 5 runs divided by the *maximum* of "
        "its perfect curve, for ζ × 80.76 is a multiple of 0.002.",
        "- **A guess**: which of the two noises it has. One number fits one point with either. "
        "Only the other tolerances can tell them apart, and those were **not run** with this "
        "noise.",
    ]


def _fitted(each: Series, curve: Curve, wanted: float) -> str:
    variance = fit({x: point.value for x, point in curve.items()}, wanted)
    low, high = LADDER[0], LADDER[-1]
    return (
        f"- *{each.setting.capitalize()}*: **σ² = {variance:.2g}** gives the paper's value. At the "
        f"ends of the ladder, σ² = {low:g} and {high:g}, ζ is {plus_minus(curve[low])} and "
        f"{plus_minus(curve[high])}."
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
