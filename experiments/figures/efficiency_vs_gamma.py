"""Figure 10: over-the-air efficiency against γ, at the noise that the paper does not state.

ζ = final accuracy divided by that of all devices without noise. Each reading of the paper's noise
has the σ² that gives matching pursuit the paper's ζ at 40 dB (:mod:`experiments.efficiency`); other
seeds measure all tolerances. ``auto`` needs no γ: its curve is a horizontal line.
"""

from collections.abc import Iterable

import numpy as np

from experiments.compare import minus, plus_minus
from experiments.efficiency import FIT_SEEDS, FITTED_DB, NOISES, SEEDS, fitted, train
from experiments.figure import Curve, Figure, Measured, Pair, PaperCurves, Point, Scale
from experiments.learning import LINEAR, NOISE_VARIANCE
from experiments.learning_curves import CONFIDENCE, LINEAR_NOT_NETWORK, resolved
from experiments.runner import Runner
from experiments.series import AUTO, DUAL_PURSUIT, MATCHING_PURSUIT, Series
from experiments.side_by_side import Run
from experiments.summary import curves, paired
from lab import paper
from lab.paper import SHIFT_DB

OWN, TOLERATED = NOISES
SILENT = "without noise"
PURSUITS = {setting: MATCHING_PURSUIT.at(setting) for setting in (OWN, TOLERATED, SILENT)}
DUAL, FREE = DUAL_PURSUIT.at(OWN), AUTO.at(OWN)
_SERIES: dict[Series, str | None] = {
    PURSUITS[OWN]: "matching_pursuit",
    DUAL: None,
    FREE: None,
    PURSUITS[TOLERATED]: "matching_pursuit",
    PURSUITS[SILENT]: None,
}
_BETWEEN_NOISES = (PURSUITS[TOLERATED], PURSUITS[OWN])
_COST = (PURSUITS[OWN], PURSUITS[SILENT])
_PAIRS = ((DUAL, PURSUITS[OWN]), (FREE, DUAL), _COST, _BETWEEN_NOISES)
GAMMAS_DB = tuple(float(gamma_db) for gamma_db in range(0, int(FITTED_DB) + 1, 5))
RIGHT_DB = (25.0, 30.0, 35.0)
"""Where the paper's curve falls, but for the fitted point."""
_RIGHT = f"{RIGHT_DB[0]:g} to {RIGHT_DB[-1]:g} dB"
_PAPERS_RUNS, _TEST_IMAGES = 5, 10_000


def measure(scale: Scale, runner: Runner) -> Measured:
    """Fit σ² on some seeds, then train at every γ on others."""
    variances = fitted(runner, scale)
    runs = {
        (each, gamma_db): _run(each, gamma_db, variances)
        for each in _SERIES
        for gamma_db in GAMMAS_DB
    }
    seeds, distinct = SEEDS[scale][: runner.seeds], list(dict.fromkeys(runs.values()))
    found = train(runner, "measure", seeds, distinct, scale)
    samples = {
        each: {gamma_db: found[runs[each, gamma_db]] for gamma_db in GAMMAS_DB} for each in _SERIES
    }
    size = LINEAR[scale]
    setting = (
        f"CIFAR-10, {size['samples']:,} images, {size['rounds']} epochs, a new channel every "
        f"{size['coherence']}, σ² = {variances[OWN]:g} ({OWN}) and {variances[TOLERATED]:g} "
        f"({TOLERATED}), each fitted at {FITTED_DB:g} dB on {len(FIT_SEEDS[scale])} other seeds"
    )
    return Measured(curves(samples), setting, LINEAR_NOT_NETWORK, paired(samples, _PAIRS))


def _run(each: Series, gamma_db: float, variances: dict[str, float]) -> Run:
    shifted = None if each is FREE else gamma_db + SHIFT_DB
    if each.setting == SILENT:
        return Run(each.policy, shifted)
    return Run(each.policy, shifted, NOISES[each.setting], variances[each.setting])


def remarks(measured: Measured, papers: PaperCurves) -> list[str]:
    """List the errors of the points that were not fitted; say what is certain and what a guess."""
    dual = {x: point.value for x, point in measured.curves[DUAL].items()}
    best = max(dual, key=dual.__getitem__)
    papers_size, least = LINEAR["paper"], min(GAMMAS_DB)
    divisor = max(paper.curves("accuracy_vs_epoch")["perfect"].values())
    return [
        f"**One number is fitted for each noise**: σ², named above, at {FITTED_DB:g} dB and on "
        f"other seeds than those that are shown. *{OWN.capitalize()}* has the error E that the "
        f"schedule attains, as the air has; *{TOLERATED}* has the variance that γ tolerates, "
        "γσ²/P, whatever the schedule attains. Matching pursuit here minus the paper's:",
        "",
        *_errors(measured, papers["matching_pursuit"]),
        "",
        "The fitted point is measured on other seeds too: its difference says how well σ² is "
        "known.",
        "",
        "- **Certain**: the paper states neither σ² nor P nor ε nor the scale of φ; it sends "
        f"models, not updates, in {papers_size['rounds'] / papers_size['coherence']:g} rounds of "
        f"{papers_size['coherence']:g} epochs. Without noise the curve does not fall on the right, "
        f"and at σ² = {NOISE_VARIANCE:g}, as in our other figures, hardly. On the left it matters "
        f"who takes part, not the noise: at {least:g} dB it changes ζ by "
        f"{plus_minus(measured.paired[_COST][least], sign=True)} (*{OWN}*).",
        f"- **Nearly certain**: each of its points is a mean of {_PAPERS_RUNS} runs divided by the "
        f"*maximum* of its perfect curve, for ζ × {divisor:g} is a multiple of "
        f"{100 / _TEST_IMAGES / _PAPERS_RUNS:g}.",
        f"- **A guess**: which noise it has. From {_RIGHT} *{_closer(measured, papers)}* is "
        "closer, and the two are told apart (next line); a reading that nobody has tried may fit "
        "as well.",
        *_left(measured.curves[PURSUITS[TOLERATED]], papers["matching_pursuit"]),
        *(f"- {_resolved(measured, pair)}" for pair in (_BETWEEN_NOISES, *_PAIRS[:-1])),
        f"- auto, which needs no tolerance, has ζ = {plus_minus(measured.curves[FREE][best])}: "
        f"{plus_minus(measured.paired[FREE, DUAL][best], sign=True)} against dual pursuit "
        f"at {best:g} dB, its best tolerance in hindsight.",
    ]


def _errors(measured: Measured, theirs: dict[float, float]) -> list[str]:
    """Return a table of matching pursuit's differences from the paper's, and their size."""
    heads = [f"{each.setting} ± standard error" for each in PURSUITS.values()]
    lines = [f"| γ [dB] | the paper's ζ | {' | '.join(heads)} |", "|---" * 5 + "|"]
    for x, value in theirs.items():
        cells = [_difference(measured.curves[each][x], value) for each in PURSUITS.values()]
        fit = " (fitted)" if x == FITTED_DB else ""
        lines.append(f"| {x:g}{fit} | {value:.3f} | {' | '.join(cells)} |")
    for title, xs in ((_RIGHT, RIGHT_DB), ("all not fitted", GAMMAS_DB[:-1])):
        cells = [
            f"**{off:.3f}** (standard errors: {error:.3f})"
            for each in PURSUITS.values()
            for off, error in [_rms(measured.curves[each], theirs, xs)]
        ]
        lines.append(f"| **rms, {title}** | | {' | '.join(cells)} |")
    return lines


def _left(ours: Curve, theirs: dict[float, float]) -> list[str]:
    """Say how many standard errors ours is off before the paper's curve falls."""
    left = [x for x in GAMMAS_DB if x < min(RIGHT_DB) and ours[x].error > 0]
    if not left:
        return []
    off = [(ours[x].value - theirs[x]) / ours[x].error for x in left]
    return [
        f"- Up to {max(left):g} dB, *{TOLERATED}* minus the paper's is "
        f"{minus(f'{min(off):+.1f} to {max(off):+.1f}')} standard errors."
    ]


def _closer(measured: Measured, papers: PaperCurves) -> str:
    """Return which noise is closer to the paper's curve where it falls."""
    off = {
        setting: _rms(measured.curves[PURSUITS[setting]], papers["matching_pursuit"], RIGHT_DB)
        for setting in NOISES
    }
    return min(off, key=off.__getitem__)


def _difference(ours: Point, theirs: float) -> str:
    return plus_minus(Point(ours.value - theirs, ours.error), sign=True)


def _rms(ours: Curve, theirs: dict[float, float], xs: tuple[float, ...]) -> tuple[float, float]:
    """Return the root mean square of the differences, and that of the standard errors."""
    off = [ours[x].value - theirs[x] for x in xs]
    errors = [ours[x].error for x in xs]
    return float(np.sqrt(np.mean(np.square(off)))), float(np.sqrt(np.mean(np.square(errors))))


def _resolved(measured: Measured, pair: Pair) -> str:
    """Say at which tolerances the order of a pair is resolved."""
    sure = {x: point for x, point in measured.paired[pair].items() if resolved(point)}
    name = " − ".join(each.title for each in pair)
    test = f"by a paired t test at {CONFIDENCE:.0%}"
    if not sure:
        return f"{name}: resolved nowhere {test}."
    signs = {
        "positive": [x for x, point in sure.items() if point.value > 0],
        "negative": [x for x, point in sure.items() if point.value < 0],
    }
    found = " and ".join(f"{sign} at {_listed(xs)} dB" for sign, xs in signs.items() if xs)
    return f"{name}: {found}, resolved {test}; elsewhere nothing can be said about the order."


def _listed(xs: Iterable[float]) -> str:
    return ", ".join(minus(f"{x:g}") for x in xs)


FIGURE = Figure(
    number=10,
    name="efficiency_vs_gamma",
    title="Over-the-air efficiency against the tolerance",
    x_label=f"tolerance γ on the paper's axis [dB] (ours: + {SHIFT_DB:g} dB; auto has none)",
    y_label="efficiency ζ",
    size="K = 20, N = 6",
    unit="seeds",
    series=_SERIES,
    papers_count=_PAPERS_RUNS,
    pairs=_PAIRS,
    measure=measure,
    why=f"The paper gives no σ²: it is fitted at {FITTED_DB:g} dB, with {TOLERATED}; with "
    f"{OWN} it does not fit. A linear layer, not its network.",
    fitted=(FITTED_DB,),
    remarks=remarks,
    panels={setting: f"{setting}: γ [dB]" for setting in PURSUITS},
)
