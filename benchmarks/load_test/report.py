"""The load test's table and picture."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from benchmarks.generator import Outcome
from benchmarks.load_test.cases import CASES, PROBLEMS, Case

PERCENTILES = (50.0, 99.0, 99.9)
LEVELS = [f"{share:g} %" for share in PERCENTILES]
COLORS = ("tab:green", "tab:orange", "tab:red")
"""One per percentile."""


@dataclass(frozen=True)
class Capacity:
    """What one core serves at most: schedules per second, and per second of processor time."""

    rate: float
    core_rate: float


Measured = dict[Case, tuple[Capacity, list[Outcome]]]
"""By case, its capacity and the outcome at each share of it."""


def percentiles(latencies: Sequence[float]) -> list[float | None]:
    """Return the latencies at :data:`PERCENTILES`; None where there are too few requests."""
    ordered, count = sorted(latencies), len(latencies)
    # How many lie at or below each. 99.9 % of 2000 are 1998; floating point gives a little more.
    ranks = [math.ceil(count * share / 100 - 1e-9) for share in PERCENTILES]
    return [ordered[rank - 1] if rank < count else None for rank in ranks]


def table(measured: Measured, note: str) -> str:
    """Return the measurements as Markdown."""
    lines = [
        "# Latency under open load",
        "",
        f"Written by `make load`. {note}",
        "",
        "| algorithm K/N | encoding | capacity [1/s] | per core second | load | requests "
        f"| {' | '.join(f'{level} [ms]' for level in LEVELS)} "
        "| generator busy | sent late by [ms] |",
        "|---" * 11 + "|",
    ]
    for case, (capacity, outcomes) in measured.items():
        for share, seen in zip(case.shares, outcomes, strict=True):
            values = (
                "–" if p is None else _rounded(1e3 * p) for p in percentiles(seen.latencies["200"])
            )
            lines.append(
                f"| `{case.algorithm}` {case.devices}/{case.antennas} | {case.encoding} "
                f"| {_rounded(capacity.rate)} | {_rounded(capacity.core_rate)} | {share:g} "
                f"| {seen.requests} "
                f"| {' | '.join(values)} | {seen.busy:.0%} | {1e3 * seen.late:.2g} |"
            )
    return "\n".join(lines) + "\n"


def draw(measured: Measured, path: Path) -> None:
    """Draw latency against load, one panel per algorithm and size."""
    figure = Figure(figsize=(12, 7.4), layout="constrained")
    panels = figure.subplots(2, 3, sharex=True).ravel()
    for axes, problem in zip(panels, PROBLEMS, strict=True):
        titles = []
        for case in (case for case in CASES if (case.algorithm, case.devices) == problem[:2]):
            capacity, outcomes = measured[case]
            titles.append(f"{case.encoding} {_rounded(capacity.rate)}")
            style = "o-" if case.encoding == "JSON" else "s--"
            for place, (level, color) in enumerate(zip(LEVELS, COLORS, strict=True)):
                found = [
                    (share, 1e3 * value)
                    for share, seen in zip(case.shares, outcomes, strict=True)
                    if (value := percentiles(seen.latencies["200"])[place]) is not None
                ]
                if found:
                    label = f"{level}, {case.encoding}"
                    axes.plot(*zip(*found, strict=True), style, color=color, ms=4, label=label)
        axes.axvline(1.0, color="black", lw=0.8, alpha=0.5)
        axes.set_title(
            f"{case.problem.replace('_', ' ')}\ncapacity per second: {', '.join(titles)}",
            fontsize=9,
        )
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel("load as a share of capacity")
        axes.set_ylabel("latency [ms]")
        axes.grid(alpha=0.3, which="both")
    handles = panels[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=6, title="percentile")
    figure.savefig(path, dpi=110)


def _rounded(value: float) -> str:
    """Return three digits, or all before the point if there are more."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
