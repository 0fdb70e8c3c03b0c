"""Priorities of the devices from round to round: whose turn it is.

age
    Rounds since the device last took part, counting this one: a device that is left out becomes
    more urgent (H. H. Yang, A. Arafa, T. Q. S. Quek, H. V. Poor, *Age-Based Scheduling Policy for
    Federated Learning in Mobile Edge Networks*, 2020, arXiv:1910.14648).
weight
    The aggregation weights: the sum over the active devices is the share of all data that is heard.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from airsched_client.federated.experiment import Record

Real = NDArray[np.float64]


def ages(devices: int, before: Sequence[Record]) -> Real:
    """Return for each device the rounds since it last took part; all of them if it never did."""
    since = np.full(devices, len(before) + 1.0)
    for record in before:
        since[list(record.active)] = len(before) - record.round
    return since


RULES: Mapping[str, Callable[[Real, Sequence[Record]], Real]] = {
    "age": lambda weights, before: ages(weights.size, before),
    "weight": lambda weights, before: weights,
}
"""By name: (weights, earlier rounds of the run) → priorities."""


def priorities(rule: str, weights: Real, before: Sequence[Record]) -> Real:
    """Return the priorities (K,) by the rule of this name."""
    if rule not in RULES:
        raise ValueError(f"priorities must be one of {', '.join(RULES)}, not {rule!r}")
    return RULES[rule](weights, before)
