"""Means, paired differences and ratios, against SciPy and against simulation."""

import numpy as np
import pytest
from scipy.stats import sem

from airsched_client.federated.statistics import mean_difference, mean_of, ratio_of_means

SAMPLES = np.random.default_rng(0).gamma(4.0, size=(2, 40))


def test_a_mean_and_its_standard_error():
    found = mean_of(SAMPLES[0])
    assert found == pytest.approx((SAMPLES[0].mean(), sem(SAMPLES[0])))
    assert mean_of([0.5, 0.7]).text() == "0.600 ± 0.100"
    assert mean_of([0.5]).text(1) == "0.5"
    assert np.isnan(mean_of([])).all()


def test_differences_are_paired():
    one, other = SAMPLES
    found = mean_difference(one + other, other)
    assert found == pytest.approx((one.mean(), sem(one)))
    with pytest.raises(ValueError, match="shorter"):
        mean_difference(one, other[:1])


def test_the_error_of_a_ratio_is_how_far_it_scatters():
    """2,000 repetitions of an experiment with 200 correlated pairs each."""
    rng = np.random.default_rng(1)
    below = rng.gamma(9.0, size=(2000, 200))
    above = 0.7 * below + rng.normal(scale=1.5, size=below.shape)
    found = np.array([ratio_of_means(one, other) for one, other in zip(above, below, strict=True)])
    assert found[:, 0].mean() == pytest.approx(0.7, abs=0.001)
    # A standard deviation from 2,000 samples is right to 1.6 %.
    assert found[:, 1].mean() == pytest.approx(found[:, 0].std(ddof=1), rel=0.05)
    assert ratio_of_means([2.0, 4.0], [1.0, 2.0]) == pytest.approx((2.0, 0.0))
