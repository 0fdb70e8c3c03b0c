"""Sweeps over channels: the curves of the figures on how many devices are served, and how fast."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from experiments.figure import Measured, Pair, Scale
from experiments.measurements import count_active, count_proven, time_schedules
from experiments.runner import Runner
from experiments.series import OPTIMAL, Series
from experiments.summary import curves, mean, median, paired
from lab.problems import ChannelModel

Call = dict[str, Any]
Points = Mapping[tuple[Series, float], Call]
"""(series, x) → the call that gives its samples, without a seed."""
Counts = Mapping[Scale, Mapping[Series | None, int]]
"""Scale → series → number of channels; None for every other series."""

SEED = 2022
"""Of the first chunk of channels; the following chunks have the following seeds."""
CHUNK = 250
"""Channels per call of a sweep."""


def count_of(counts: Counts, scale: Scale, series: Series) -> int:
    """Return how many channels a series has."""
    of_scale = counts[scale]
    return of_scale.get(replace(series, setting=""), of_scale[None])


def call(
    series: Series,
    model: ChannelModel,
    gamma_db: float,
    count: int,
    *,
    antennas: int = 6,
    devices: int = 20,
    **parameters: Any,
) -> Call:
    """Return the call of a series, with every parameter; ``parameters`` replace the series' own."""
    return {
        "algorithm": series.algorithm,
        "parameters": {**series.arguments, **parameters},
        "model": model,
        "gamma_db": gamma_db,
        "count": count,
        "antennas": antennas,
        "devices": devices,
    }


def mean_active(
    runner: Runner,
    title: str,
    points: Points,
    pairs: Iterable[Pair] = (),
    setting: str = "",
    together: int = 1,
) -> Measured:
    """Sweep over the points, in chunks of channels, and return the mean |S|.

    Parameters
    ----------
    together
        So many consecutive channels count as one sample, by their mean: those that depend on each
        other.
    """
    proven = {owner: point for owner, point in points.items() if owner[0] == OPTIMAL}
    samples: dict[Series, dict[float, list[float]]] = {}
    bounds: dict[float, list[float]] = {}
    for (series, x), found in _in_chunks(runner, f"{title}, proofs", count_proven, proven):
        samples.setdefault(series, {}).setdefault(x, []).extend(size for size, _ in found)
        bounds.setdefault(x, []).extend(bound for _, bound in found)
    others = {owner: point for owner, point in points.items() if owner not in proven}
    for (series, x), found in _in_chunks(runner, title, count_active, others):
        samples.setdefault(series, {}).setdefault(x, []).extend(found)
    samples = {
        series: {x: _in_groups(values, together) for x, values in by_x.items()}
        for series, by_x in samples.items()
    }
    means = curves(samples)
    for x, point in means.get(OPTIMAL, {}).items():
        if (upper := mean(bounds[x]).value) > point.value:
            means[OPTIMAL][x] = replace(point, band=(point.value, upper))
    return Measured(means, setting, paired=paired(samples, pairs))


def _in_groups(values: list[float], size: int) -> list[float]:
    """Return the mean of every ``size`` consecutive values."""
    return [
        sum(values[first : first + size]) / len(values[first : first + size])
        for first in range(0, len(values), size)
    ]


def _in_chunks(
    runner: Runner, title: str, function: Callable[..., list[Any]], points: Points
) -> Iterator[tuple[tuple[Series, float], list[Any]]]:
    """Yield the point and the result of every chunk of channels."""
    calls, owners = [], []
    for owner, point in points.items():
        for number, first in enumerate(range(0, point["count"], CHUNK)):
            count = min(CHUNK, point["count"] - first)
            calls.append({**point, "count": count, "seed": SEED + number})
            owners.append(owner)
    if calls:
        yield from zip(owners, runner.sweep(title, function, calls), strict=True)


def median_seconds(
    runner: Runner, title: str, points: Points, setting: str = "", smaller: str = ""
) -> Measured:
    """Time the points one after the other, and return the medians."""
    calls = [{**point, "seed": SEED} for point in points.values()]
    samples: dict[Series, dict[float, list[float]]] = {}
    results = runner.sweep(title, time_schedules, calls, in_parallel=False)
    for (series, x), seconds in zip(points, results, strict=True):
        samples.setdefault(series, {})[x] = seconds
    return Measured(curves(samples, median), setting, smaller)
