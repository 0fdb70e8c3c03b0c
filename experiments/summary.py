"""From samples to points: means, medians and paired differences with their standard errors."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import nan

import numpy as np
from scipy.stats.mstats import mjci  # type: ignore[import-untyped]

from airsched_client.federated.statistics import mean_of
from experiments.figure import Curve, Curves, Pair, Point
from experiments.series import Series

Samples = Mapping[Series, Mapping[float, Sequence[float]]]
"""Series → x → one value per channel or seed, in the same order for every series."""


def mean(values: Sequence[float]) -> Point:
    """Return the mean and its standard error."""
    return Point(*mean_of(values), len(values))


def median(values: Sequence[float]) -> Point:
    """Return the median; its standard error is that of Maritz and Jarrett (1978)."""
    count = len(values)
    error = float(mjci(np.asarray(values), prob=[0.5])[0]) if count > 1 else nan
    return Point(float(np.median(values)), error, count)


def curves(samples: Samples, point: Callable[[Sequence[float]], Point] = mean) -> Curves:
    """Return a curve per series."""
    return {
        series: {x: point(values) for x, values in by_x.items()} for series, by_x in samples.items()
    }


def paired(samples: Samples, pairs: Iterable[Pair]) -> dict[Pair, Curve]:
    """Return the mean of one − other of each pair, where both have samples.

    Where one has fewer samples, they are the first ones of the other's.
    """
    return {
        (one, other): {
            x: mean([a - b for a, b in zip(samples[one][x], samples[other][x], strict=False)])
            for x in samples[one]
            if x in samples[other]
        }
        for one, other in pairs
        if one in samples and other in samples
    }
