"""Figure 11: over-the-air efficiency against γ.

ζ = final accuracy divided by that of all devices without noise. The ``quick`` scale learns
handwritten digits instead of CIFAR-10, and needs no data.
"""

from experiments.figure import Figure, Measured, PaperCurves, Scale
from experiments.learning import LINEAR, NOISE_VARIANCE, Setting, learn
from experiments.learning_curves import LINEAR_NOT_NETWORK
from experiments.runner import Runner
from experiments.series import DUAL_PURSUIT, MATCHING_PURSUIT, PERFECT
from experiments.summary import curves, paired
from lab import paper
from lab.paper import SHIFT_DB

_SERIES = {MATCHING_PURSUIT: "matching_pursuit", DUAL_PURSUIT: None}
_PAIRS = ((DUAL_PURSUIT, MATCHING_PURSUIT),)
_DIGITS: Setting = {"rounds": 15, "coherence": 1}
_DIGITS_NOISE = 1.0
SEEDS: dict[Scale, range] = {"quick": range(5), "paper": range(5)}


def measure(scale: Scale, runner: Runner) -> Measured:
    """Train at every γ of the paper's."""
    gammas_db = list(paper.curves(FIGURE.name)["matching_pursuit"])
    shifted = [gamma_db + SHIFT_DB for gamma_db in gammas_db]
    sets = [([each.policy], shifted) for each in (PERFECT, *_SERIES)]
    if scale == "quick":
        found = learn(runner, "digits", SEEDS[scale], _DIGITS, sets, _DIGITS_NOISE)
        smaller = "handwritten digits, not CIFAR-10"
        setting = f"handwritten digits, {_DIGITS['rounds']} rounds, σ² = {_DIGITS_NOISE:g}"
    else:
        found = learn(runner, "patches", SEEDS[scale], LINEAR[scale], sets)
        smaller = LINEAR_NOT_NETWORK
        setting = (
            f"CIFAR-10, {LINEAR[scale]['samples']:,} images, {LINEAR[scale]['rounds']} epochs, "
            f"σ² = {NOISE_VARIANCE:g}"
        )
    perfect = [run["accuracy"][-1] for run in found[PERFECT.policy, None]]
    samples = {
        each: {
            gamma_db: [
                run["accuracy"][-1] / reference
                for run, reference in zip(found[each.policy, ours], perfect, strict=True)
            ]
            for gamma_db, ours in zip(gammas_db, shifted, strict=True)
        }
        for each in _SERIES
    }
    return Measured(curves(samples), setting, smaller, paired(samples, _PAIRS))


def remarks(measured: Measured, papers: PaperCurves) -> list[str]:
    """Say where the best tolerance is."""
    lines = []
    ours = {
        f"Here, {each.label}": {x: point.value for x, point in curve.items()}
        for each, curve in measured.curves.items()
    }
    theirs = {"In the paper, matching pursuit": papers["matching_pursuit"]}
    for whose, curve in (ours | theirs).items():
        best = max(curve, key=curve.__getitem__)
        lines.append(
            f"- {whose} is best at {best:g} dB, ζ = {curve[best]:.3f}; it has "
            f"{curve[min(curve)]:.3f} at {min(curve):g} dB and {curve[max(curve)]:.3f} at "
            f"{max(curve):g} dB."
        )
    lines.append(
        "- Dual pursuit hardly falls on the right: of all receivers that serve its devices it "
        "takes the one with the least error, so a looser tolerance should cost it little. This "
        "explanation was not tested separately."
    )
    lines.append(
        "- The paper does not give σ², which decides where the curve falls on the right: with γ "
        "it sets the error, E ≤ γσ²/P. Its shape, with a best tolerance in between, is what can "
        "be compared."
    )
    return lines


FIGURE = Figure(
    number=11,
    name="efficiency_vs_gamma",
    title="Over-the-air efficiency against the tolerance",
    x_label="tolerance γ on the paper's axis [dB]",
    y_label="efficiency ζ",
    size=f"K = 20, N = 6, our γ = the paper's + {SHIFT_DB:g} dB",
    unit="seeds",
    series=_SERIES,
    pairs=_PAIRS,
    measure=measure,
    remarks=remarks,
)
