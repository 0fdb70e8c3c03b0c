"""Learning curves as figures: a quantity by epoch, and which orders of policies are resolved."""

from itertools import combinations
from typing import Literal

import numpy as np
from scipy.stats import t as student  # type: ignore[import-untyped]

from airsched_client.federated.channels import NetworkParameters
from airsched_client.federated.report import markdown_rows
from experiments.compare import minus, plus_minus
from experiments.figure import Figure, Measured, PaperCurves, Point, Scale
from experiments.learning import (
    LINEAR,
    LINEAR_SEEDS,
    NETWORK,
    NETWORK_SEEDS,
    NOISE_VARIANCE,
    Setting,
    learn,
)
from experiments.runner import Runner
from experiments.series import DC, DUAL_PURSUIT, MATCHING_PURSUIT, PERFECT, SDR_PREFIX, Series
from experiments.summary import curves, paired
from lab.paper import SHIFT_DB
from lab.paper import curves as curves_of_paper

GAMMA_DB = 15.0
"""The paper's, on its own axis."""
Learner = Literal["linear", "network"]
SERIES: dict[Learner, dict[Series, str | None]] = {
    "linear": {
        PERFECT: "perfect",
        DUAL_PURSUIT: None,
        DC: "dc",
        MATCHING_PURSUIT: "matching_pursuit",
        SDR_PREFIX: "sdr",
    },
    "network": {
        PERFECT: "perfect",
        DUAL_PURSUIT: None,
        MATCHING_PURSUIT: "matching_pursuit",
        SDR_PREFIX: "sdr",
    },
}
"""Of sdr's readings, the one that is closer to the paper's."""
LINEAR_RUNS = ([each.policy for each in SERIES["linear"]], [GAMMA_DB + SHIFT_DB])
"""Policies and their tolerance."""
CONFIDENCE = 0.99
LINEAR_NOT_NETWORK = "a linear layer on fixed random-patch features, not the paper's network"


def measure(
    learner: Learner, scale: Scale, runner: Runner, quantity: str, factor: float = 1.0
) -> Measured:
    """Return a quantity of every policy by epoch."""
    series, gamma_db = SERIES[learner], GAMMA_DB + SHIFT_DB
    if learner == "linear":
        setting = LINEAR[scale]
        found = learn(runner, "patches", LINEAR_SEEDS[scale], setting, [LINEAR_RUNS])
    else:
        setting = NETWORK[scale]
        # One call per policy: each takes an hour.
        sets = [([each.policy], [gamma_db]) for each in series]
        found = learn(runner, "cifar10", NETWORK_SEEDS[scale], setting, sets)
    runs = {each: found[each.policy, None if each is PERFECT else gamma_db] for each in series}
    samples = {
        each: {
            float(at): [factor * value for value in values]
            for at, values in enumerate(zip(*(run[quantity] for run in of), strict=True), start=1)
        }
        for each, of in runs.items()
    }
    active = ", ".join(
        f"{each.label} {np.mean([run['active'] for run in of]):.1f}" for each, of in runs.items()
    )
    # A run that goes on has fewer epochs so far.
    epochs = max(len(by_epoch) for by_epoch in samples.values())
    return Measured(
        curves(samples),
        f"a new channel every {setting['coherence']} epochs, σ² = {NOISE_VARIANCE:g}; "
        f"mean |S|: {active}",
        _smaller(learner, {**setting, "rounds": epochs}),
        paired(samples, combinations(series, 2)),
    )


def _smaller(learner: Learner, setting: Setting) -> str:
    papers = NETWORK["paper"]
    parts = [LINEAR_NOT_NETWORK] if learner == "linear" else []
    if setting.get("width", 1.0) < 1:
        parts.append(f"a network of {setting['width']:g} times the paper's width")
    for name, words in (("samples", "training images"), ("rounds", "epochs")):
        if setting[name] < papers[name]:
            parts.append(f"{setting[name]:,} of {papers[name]:,} {words}")
    return ", ".join(parts)


def resolved(difference: Point) -> bool:
    """Say whether a paired difference is not zero, by a t test at :data:`CONFIDENCE`."""
    if not np.isfinite(difference.error) or difference.count < 2:
        return False
    limit = student.ppf((1 + CONFIDENCE) / 2, difference.count - 1)
    return bool(abs(difference.value) > limit * difference.error)


def orders(measured: Measured, papers: PaperCurves, names: dict[Series, str | None]) -> list[str]:
    """Return a table of the paired differences at the last epoch, and whether they are resolved."""
    last = max(x for curve in measured.curves.values() for x in curve)
    rows = []
    for (one, other), curve in measured.paired.items():
        first, second = (papers.get(names[each] or "", {}).get(last) for each in (one, other))
        theirs = "" if first is None or second is None else minus(f"{first - second:+.3g}")
        mark = "**yes**" if resolved(curve[last]) else "no"
        ours = plus_minus(curve[last], sign=True)
        rows.append([f"{one.label} − {other.label}", ours, mark, theirs])
    return [
        f"Paired differences at epoch {last:g}. One counts as **resolved** if it is not zero by a "
        f"t test at {CONFIDENCE:.0%}; of the others nothing can be said about the order.",
        "",
        *markdown_rows(["difference", "here", "resolved", "in the paper"], rows),
    ]


def figure(
    number: int, name: str, title: str, y_label: str, quantity: str, factor: float = 1.0
) -> Figure:
    """Return one of the paper's three figures of learning curves, with a linear layer."""
    names = SERIES["linear"]
    return Figure(
        number=number,
        name=name,
        title=title,
        x_label=f"epoch (algorithms at γ = {GAMMA_DB:g} + {SHIFT_DB:g} dB)",
        y_label=y_label,
        size="CIFAR-10; K = 20, N = 6",
        unit="seeds",
        series=names,
        pairs=tuple(combinations(names, 2)),
        measure=lambda scale, runner: measure("linear", scale, runner, quantity, factor),
        why="A linear layer, not the paper's network: levels differ, orders can be compared.",
        remarks=lambda measured, papers: [*orders(measured, papers, names), *_reasons()],
    )


def _reasons() -> list[str]:
    """Say what sets these curves apart from the paper's."""
    served = curves_of_paper("active_vs_gamma_network")["sdr"][GAMMA_DB]
    devices = NetworkParameters().devices
    return [
        "",
        "- What is learnt is a linear layer on fixed features (all images, learnt in seconds), so "
        "that enough seeds can be run to tell the policies apart. Levels cannot be compared with "
        "the paper's network; orders and distances to *perfect* can.",
        f"- sdr is closer to the others than in the paper, whose sdr serves {served:.1f} of the "
        f"{devices} devices at this γ: ours is solved to convergence and serves more (see "
        "`active_vs_gamma_network`).",
        "- Learning rate, momentum and batch size are the paper's; the number of features was set "
        "by the time a run takes, before any policy but *perfect* had been run.",
    ]
