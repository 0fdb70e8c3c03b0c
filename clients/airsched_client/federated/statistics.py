"""Means and their standard errors, for the tables and pictures of the loop and the experiments."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class Mean(NamedTuple):
    """A mean over seeds or channels.

    Parameters
    ----------
    value
        The mean; NaN without a sample.
    error
        Its standard error s/√n, with s² = Σ(x − mean)²/(n − 1); NaN with fewer than two samples.
    """

    value: float
    error: float

    def text(self, digits: int = 3, *, sign: bool = False) -> str:
        """Return it as ``0.912 ± 0.004``; without ± if the error is unknown."""
        plus = "+" if sign else ""
        value = f"{self.value:{plus}.{digits}f}" if np.isfinite(self.value) else "overflow"
        return f"{value} ± {self.error:.{digits}f}" if np.isfinite(self.error) else value


def mean_of(values: ArrayLike) -> Mean:
    """Return the mean of some samples and its standard error."""
    samples = np.asarray(values, float)
    if not samples.size:
        return Mean(np.nan, np.nan)
    value = float(samples.mean())
    if samples.size < 2:
        return Mean(value, np.nan)
    # Overflowed samples make both infinite or NaN, which is what the table says.
    with np.errstate(invalid="ignore", over="ignore"):
        error = float(samples.std(ddof=1) / np.sqrt(samples.size))
    return Mean(value, error)


def mean_difference(ones: ArrayLike, others: ArrayLike) -> Mean:
    """Return the mean of the paired differences, the first sample of one with that of the other."""
    pairs = zip(np.asarray(ones, float), np.asarray(others, float), strict=True)
    return mean_of([one - other for one, other in pairs])


def ratio_of_means(ones: ArrayLike, others: ArrayLike) -> Mean:
    """Return the mean of one over that of the other, for samples in pairs.

    To first order, the ratio r errs as the mean of one − r·other does.
    """
    above, below = np.asarray(ones, float), np.asarray(others, float)
    ratio = float(above.mean() / below.mean())
    return Mean(ratio, mean_difference(above, ratio * below).error / abs(float(below.mean())))
