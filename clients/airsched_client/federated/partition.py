"""How the data is divided among the devices: the paper's quantity skew, and label skew.

**Quantity** (Bereyhi et al. 2022, section "Learning Setup"): a random half of the K devices draws
L̃_k uniformly from [L/K, L/K + ε₁], the other half from [ε₀, ε₁], and with L samples in all

    L_k = L̃_k + ⌊(L − Σ_k L̃_k)/K⌋.

The fewer than K samples left over by rounding are not used. ε₀ = 300 and ε₁ = 500 at the
paper's L/K = 2500; as fractions of L/K they apply to data sets of any size.

**Labels**: the paper samples them "asymmetrically" after Li et al. (2022), whose label skew is a
Dirichlet one: device k draws p_k ~ Dir(β, …, β) over the classes and takes its L_k samples, without
replacement, in these proportions until a class runs out. With small β, a device has few classes.

**Weights**: φ_k = L_k / ((1/K) Σ_i L_i), of mean one, so a tolerance γ means the same for data sets
of any size, and equal devices have the service's default weights.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class PartitionParameters:
    """Parameters of the partition; the defaults are the paper's.

    Parameters
    ----------
    least, most
        ε₀ and ε₁ in units of L/K: 300/2500 and 500/2500.
    label_concentration
        β of the Dirichlet label skew; infinity for none.
    """

    least: float = 0.12
    most: float = 0.2
    label_concentration: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.least < self.most:
            raise ValueError("the sizes must satisfy 0 <= least < most")
        if not self.label_concentration > 0:
            raise ValueError("label_concentration must be positive; infinity means no skew")


def data_sizes(
    samples: int, devices: int, parameters: PartitionParameters, rng: np.random.Generator
) -> Indices:
    """Return L_k for L samples and K devices, (K,) integers with Σ_k L_k in (L − K, L]."""
    share = samples / devices
    least, most = parameters.least * share, parameters.most * share
    drawn = np.floor(rng.uniform(least, most, devices))
    large = rng.permutation(devices)[: devices // 2]
    drawn[large] = np.floor(rng.uniform(share, share + most, large.size))
    sizes: Indices = (drawn + np.floor((samples - drawn.sum()) / devices)).astype(np.int64)
    if sizes.min() < 1:
        raise ValueError(
            f"{samples} samples leave some of {devices} devices none:"
            " use fewer devices or a smaller `most`"
        )
    return sizes


def partition(
    labels: ArrayLike, devices: int, parameters: PartitionParameters, rng: np.random.Generator
) -> list[Indices]:
    """Divide samples among devices by quantity and by label.

    Parameters
    ----------
    labels
        (L,) integer classes; zeros if there are none (regression).
    devices
        K.

    Returns
    -------
    list
        K ascending arrays of sample indices that do not overlap; array k has L_k of them.
    """
    classes, inverse = np.unique(np.asarray(labels), return_inverse=True)
    sizes = data_sizes(inverse.size, devices, parameters, rng)
    order = rng.permutation(inverse.size)
    if np.isinf(parameters.label_concentration):
        cuts = np.cumsum(sizes)
        return [np.sort(part) for part in np.split(order, cuts)[:devices]]
    pools = [order[inverse[order] == label] for label in range(classes.size)]
    parts: list[Indices] = [np.empty(0, np.int64)] * devices
    # In random order, because the last device gets whatever labels are left.
    for device in rng.permutation(devices):
        wanted = rng.dirichlet(np.full(classes.size, parameters.label_concentration))
        counts = _class_counts(
            int(sizes[device]), wanted, np.array([len(pool) for pool in pools]), rng
        )
        taken = [pool[:count] for pool, count in zip(pools, counts, strict=True)]
        pools = [pool[count:] for pool, count in zip(pools, counts, strict=True)]
        parts[device] = np.sort(np.concatenate(taken))
    return parts


def parts_of(
    given: Sequence[ArrayLike] | None,
    labels: ArrayLike | None,
    devices: int,
    parameters: PartitionParameters,
    rng: np.random.Generator,
) -> list[Indices]:
    """Return the samples of every device: those given, or else by :func:`partition`.

    Raises
    ------
    ValueError
        There are not K parts, or one is empty or no list of indices.
    """
    if given is None:
        assert labels is not None
        return partition(labels, devices, parameters, rng)
    parts = [np.asarray(part) for part in given]
    if len(parts) != devices:
        raise ValueError(f"there are {len(parts)} parts of the data, but {devices} devices")
    for device, part in enumerate(parts):
        if part.ndim != 1 or not part.size or part.dtype.kind not in "iu":
            raise ValueError(
                f"the part of device {device} must be indices of its samples, at least one;"
                f" it is {part.dtype} of shape {part.shape}"
            )
    return [part.astype(np.int64) for part in parts]


def aggregation_weights(sizes: ArrayLike) -> NDArray[np.float64]:
    """Return φ_k = L_k / mean(L), (K,)."""
    counts = np.asarray(sizes, float)
    return np.asarray(counts / counts.mean())


def _class_counts(
    size: int, wanted: NDArray[np.float64], available: Indices, rng: np.random.Generator
) -> Indices:
    """Return how many samples of each class to take: ``size`` in total, within ``available``."""
    counts = np.zeros_like(available)
    while (missing := size - counts.sum()) > 0:
        left = available - counts
        chance = np.where(left > 0, wanted, 0.0)
        if chance.sum() <= 0:
            chance = left.astype(float)
        counts += np.minimum(rng.multinomial(missing, chance / chance.sum()), left)
    return counts
