"""The partition against the paper's rule."""

import numpy as np
import pytest

from airsched_client.federated.partition import (
    PartitionParameters,
    aggregation_weights,
    data_sizes,
    partition,
)

NO_SKEW = PartitionParameters(label_concentration=float("inf"))


@pytest.mark.parametrize("seed", range(5))
def test_sizes_follow_the_papers_rule(seed):
    sizes = np.sort(data_sizes(50_000, 20, PartitionParameters(), np.random.default_rng(seed)))
    assert 50_000 - 20 < sizes.sum() <= 50_000
    # One common number was added: half lie in [300, 500] of it, half in [2500, 3000].
    small, large = sizes[:10], sizes[10:]
    assert small.max() - small.min() <= 200
    assert large.max() - large.min() <= 500
    assert large.min() - small.max() >= 2500 - 500
    assert large.max() - small.min() <= 3000 - 300
    assert len(set(sizes.tolist())) > 10


def test_which_half_is_large_is_random():
    large = [
        tuple(np.argsort(data_sizes(50_000, 20, NO_SKEW, np.random.default_rng(seed)))[10:])
        for seed in range(4)
    ]
    assert len(set(large)) == 4


@pytest.mark.parametrize("parameters", [PartitionParameters(), NO_SKEW])
def test_nobody_shares_and_everyone_has_their_size(parameters):
    labels = np.random.default_rng(0).integers(0, 10, 3000)
    parts = partition(labels, 15, parameters, np.random.default_rng(1))
    together = np.concatenate(parts)
    assert len(parts) == 15
    assert np.unique(together).size == together.size
    assert 3000 - 15 < together.size <= 3000
    sizes = np.sort([part.size for part in parts])
    assert sizes[8] - sizes[7] > 100  # seven small and eight large ones
    again = partition(labels, 15, parameters, np.random.default_rng(1))
    for one, other in zip(parts, again, strict=True):
        np.testing.assert_array_equal(one, other)


def test_labels_are_skewed_by_the_concentration():
    labels = np.random.default_rng(0).integers(0, 10, 20_000)

    def distance(concentration):
        """Mean total variation between a device's labels and everyone's."""
        parameters = PartitionParameters(label_concentration=concentration)
        parts = partition(labels, 20, parameters, np.random.default_rng(2))
        everyone = np.bincount(labels, minlength=10) / labels.size
        shares = [np.bincount(labels[part], minlength=10) / part.size for part in parts]
        return np.mean([np.abs(share - everyone).sum() / 2 for share in shares])

    measured = [distance(concentration) for concentration in (0.1, 0.5, 5.0, float("inf"))]
    assert measured == sorted(measured, reverse=True)
    drawn = np.random.default_rng(3).dirichlet(np.full(10, 0.5), 10_000)
    expected = np.mean(np.abs(drawn - 0.1).sum(axis=1) / 2)
    # Twenty devices, and the last of them take what labels are left.
    assert measured[1] == pytest.approx(expected, abs=0.1)
    assert measured[3] < 0.06


def test_weights_are_sizes_of_mean_one():
    weights = aggregation_weights([10, 30, 20])
    np.testing.assert_allclose(weights, [0.5, 1.5, 1.0])


def test_too_many_devices_are_refused():
    with pytest.raises(ValueError, match="fewer devices"):
        data_sizes(10, 20, PartitionParameters(), np.random.default_rng(0))
    with pytest.raises(ValueError, match="least < most"):
        PartitionParameters(least=0.5, most=0.2)
    with pytest.raises(ValueError, match="concentration"):
        PartitionParameters(label_concentration=0.0)
