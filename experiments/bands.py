"""Devices that one set serves over a band: what the figures of bands have in common."""

from collections.abc import Mapping

from app.scheduling import WIDEBAND_SCHEDULERS, solve
from app.scheduling.wideband.problem import Criterion
from experiments.figure import Figure, Measured, PaperCurves, Scale
from experiments.runner import Runner
from experiments.selection import SEED
from experiments.series import Series, policy_series
from experiments.summary import curves, paired
from lab.problems import band_problems

CHANNELS: dict[Scale, int] = {"quick": 10, "paper": 100}
GAMMAS_DB: dict[Criterion, float] = {"mean": 0.5, "each": 1.3}
"""By criterion; with 16 subcarriers and 4 taps they let dual pursuit serve nine in ten devices."""
METHODS = tuple(map(policy_series, ("dual_pursuit", "intersection", "matching_pursuit")))
SERIES = {method.at(criterion): None for criterion in GAMMAS_DB for method in METHODS}
PAIRS = tuple(
    (METHODS[0].at(criterion), other.at(criterion))
    for criterion in GAMMAS_DB
    for other in METHODS[1:]
)


def count_over_band(
    subcarriers: int, taps: int, criterion: Criterion, count: int, seed: int
) -> dict[str, list[int]]:
    """Return |S| of every method on the same bands, K = 20, N = 6, iid channels."""
    problems = band_problems(
        count, subcarriers, 6, 20, GAMMAS_DB[criterion], seed, taps=taps, criterion=criterion
    )
    return {
        method.algorithm: [
            int(solve(problem, method.algorithm, parameters).active.size) for problem in problems
        ]
        for method in METHODS
        for parameters in [WIDEBAND_SCHEDULERS[method.algorithm].parameters()]
    }


def figure(
    name: str, title: str, x_label: str, size: str, bands: Mapping[float, tuple[int, int]]
) -> Figure:
    """Return a figure of the mean |S| of all methods on the same bands, a panel per criterion.

    Parameters
    ----------
    size
        What all its bands have in common: the other one of the two numbers.
    bands
        x → numbers of subcarriers and taps.
    """
    return Figure(
        number=0,
        name=name,
        title=title,
        x_label=x_label,
        y_label="mean number of active devices",
        size=f"K = 20, N = 6, {size}",
        unit="channels",
        series=SERIES,
        measure=lambda scale, runner: _measure(runner, name, scale, bands),
        remarks=remarks,
        pairs=PAIRS,
        log_x=True,
        panels={
            criterion: f"{x_label}; criterion {criterion}, γ = {gamma_db:g} dB"
            for criterion, gamma_db in GAMMAS_DB.items()
        },
    )


def _measure(
    runner: Runner, title: str, scale: Scale, bands: Mapping[float, tuple[int, int]]
) -> Measured:
    points = [(criterion, x) for criterion in GAMMAS_DB for x in bands]
    calls = [
        {
            "subcarriers": bands[x][0],
            "taps": bands[x][1],
            "criterion": criterion,
            "count": CHANNELS[scale],
            "seed": SEED,
        }
        for criterion, x in points
    ]
    samples: dict[Series, dict[float, list[float]]] = {}
    found = runner.sweep(title, count_over_band, calls)
    for (criterion, x), served in zip(points, found, strict=True):
        for method in METHODS:
            by_x = samples.setdefault(method.at(criterion), {})
            by_x[x] = served[method.algorithm]
    words = ", ".join(f"γ = {gamma_db:g} dB for {name}" for name, gamma_db in GAMMAS_DB.items())
    return Measured(curves(samples), words, paired=paired(samples, PAIRS))


def remarks(measured: Measured, papers: PaperCurves) -> list[str]:
    """Say what it is."""
    return ["Not in the paper. One set for the whole band: `POST /schedule/wideband`."]
