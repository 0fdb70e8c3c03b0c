"""Over-the-air efficiency ζ of runs side by side, and the noise at which it is the paper's.

ζ = final accuracy divided by that of all devices without noise. The paper gives no noise variance
σ²; what it would have to be, so that matching pursuit has the paper's ζ at its largest tolerance,
is read off a ladder of values, once for each reading of the paper's noise
(:mod:`experiments.side_by_side`). Other seeds then measure ζ at that σ².
"""

import numpy as np

from experiments.figure import Scale
from experiments.learning import LINEAR, MissingDataError
from experiments.runner import Runner
from experiments.series import MATCHING_PURSUIT, PERFECT
from experiments.side_by_side import Run, train_together
from lab import paper
from lab.paper import SHIFT_DB

NOISES = {"noise of the schedule": "schedule", "noise as tolerated": "tolerated"}
"""Setting of a series → noise of its runs."""
FITTED_DB = 40.0
"""Tolerance, on the paper's axis, at which σ² is fitted."""
LADDER = tuple(0.02 * 2.0**step for step in range(7))
"""Values of σ² that are tried there."""
FIT_SEEDS: dict[Scale, range] = {"quick": range(100, 102), "paper": range(100, 106)}
SEEDS: dict[Scale, range] = {"quick": range(3), "paper": range(12)}
"""Those that measure ζ at the fitted σ²."""


def train(
    runner: Runner, title: str, seeds: range, runs: list[Run], scale: Scale
) -> dict[Run, list[float]]:
    """Return ζ of every run, one value per seed."""
    if runner.data is None:
        raise MissingDataError("CIFAR-10 is missing: give its folder with --data")
    size = {name: int(value) for name, value in LINEAR[scale].items()}
    calls = [{"seed": seed, "runs": [Run(PERFECT.policy), *runs], **size} for seed in seeds]
    results = runner.sweep(
        title,
        train_together,
        calls,
        # One after the other: a long run is stopped without loss, and leaves a core to others.
        in_parallel=False,
        data=str(runner.data.resolve()),
    )
    found: dict[Run, list[float]] = {}
    for reference, *others in results:
        for run, accuracies in zip(runs, others, strict=True):
            found.setdefault(run, []).append(accuracies[-1] / reference[-1])
    return found


def ladder(runner: Runner, scale: Scale) -> dict[str, dict[float, list[float]]]:
    """Return ζ of matching pursuit at :data:`FITTED_DB`: setting → σ² → one value per seed."""
    runs = {
        (setting, variance): Run(MATCHING_PURSUIT.policy, FITTED_DB + SHIFT_DB, noise, variance)
        for setting, noise in NOISES.items()
        for variance in LADDER
    }
    found = train(runner, "fit", FIT_SEEDS[scale], list(runs.values()), scale)
    by_setting: dict[str, dict[float, list[float]]] = {}
    for (setting, variance), run in runs.items():
        by_setting.setdefault(setting, {})[variance] = found[run]
    return by_setting


def wanted() -> float:
    """Return the paper's ζ of matching pursuit at :data:`FITTED_DB`."""
    return paper.curves("efficiency_vs_gamma")["matching_pursuit"][FITTED_DB]


def fitted(runner: Runner, scale: Scale) -> dict[str, float]:
    """Return the σ² of each setting that gives ζ as wanted, to three digits."""
    return {
        setting: float(f"{fit({v: float(np.mean(zetas)) for v, zetas in steps.items()}):.3g}")
        for setting, steps in ladder(runner, scale).items()
    }


def fit(curve: dict[float, float]) -> float:
    """Return the σ² at which ζ is as wanted, between the steps of a ladder; its end beyond."""
    variances = sorted(curve)
    falling = np.minimum.accumulate([curve[variance] for variance in variances])
    return float(np.exp(np.interp(-wanted(), -falling, np.log(variances))))
