"""Greedy spatial device selection after Moradi Kalarde et al. (2023).

F. Moradi Kalarde, M. Dong, B. Liang, Y. A. Eldemerdash Ahmed and H. T. Cheng, *Beamforming and
Device Selection Design in Federated Learning with Over-the-air Aggregation*, arXiv:2302.14336.

Devices are added one by one, by a measure of their channel's strength and of its correlation with
those already selected; the receiver of every set is found by multicast beamforming, and the set
with the least cost is kept (:mod:`lab.rivals.learning_cost`).

Assumed, as only the paper's abstract and the objective were at hand: the first device is the one
with the largest ‖h_k‖/φ_k; then the measure of device k is the length of the projection of h_k/φ_k
on the span of the selected channels, and the largest is added. All K prefixes of this order are
tried, not only those up to the first rise of the cost, which favours the method.
"""

from typing import NamedTuple

import numpy as np

from app.scheduling.types import ComplexArray, IndexArray, RealArray
from lab.channels import iid_channels
from lab.rivals.learning_cost import cost, error_of
from lab.rivals.multicast import least_norm

ANTENNAS, DEVICES, NOISE_DBM = 16, 10, -106.0
REFERENCE = "Moradi Kalarde et al. (2023), [arXiv:2302.14336](https://arxiv.org/abs/2302.14336)"
OBJECTIVE = r"4(1 − Φ_S/Φ)² + (σ²/2P) max(φ_k²/\|cᴴh_k\|²)/Φ_S²"
"""The paper and what it minimises, as Markdown."""


class Selected(NamedTuple):
    """A set, its receiver and its cost."""

    active: IndexArray
    receiver: ComplexArray
    cost: float


def order(channels: ComplexArray, weights: RealArray) -> list[int]:
    """Return all devices in the order in which they are added."""
    scaled = channels / weights
    chosen = [int(np.argmax(np.linalg.norm(scaled, axis=0)))]
    while len(chosen) < weights.size:
        basis = np.linalg.qr(scaled[:, chosen])[0]
        measure = np.linalg.norm(basis.conj().T @ scaled, axis=0)
        measure[chosen] = -1
        chosen.append(int(np.argmax(measure)))
    return chosen


def select(channels: ComplexArray, weights: RealArray) -> Selected:
    """Return the best prefix of the order."""
    added = order(channels, weights)
    receiver = channels[:, added[0]]
    found = []
    for count in range(1, weights.size + 1):
        active = np.array(sorted(added[:count]))
        # From the last receiver, turned towards the new device: one without gain cannot start.
        newest = channels[:, added[count - 1]]
        start = receiver / np.linalg.norm(receiver) + newest / np.linalg.norm(newest)
        receiver = least_norm(channels[:, active], weights[active], start)
        error = error_of(channels, weights, active, receiver)
        found.append(Selected(active, receiver, cost(weights, active, error)))
    return min(found, key=lambda each: each.cost)


def drop(
    rng: np.random.Generator, power_dbm: float, uneven: bool
) -> tuple[ComplexArray, RealArray]:
    """Return channels over the noise's deviation, (16, 10), and weights of mean one.

    Assumed: devices uniform in area between 50 and 500 m from the server; a path loss of
    128.1 + 37.6 log₁₀(d/km) dB with 8 dB of shadowing; Rayleigh fading; noise of −106 dBm (1 MHz,
    a noise figure of 8 dB). Uneven weights are those of RIS-FL: half of the devices have 1000 to
    2000 samples, the others 100 to 200.
    """
    distance = np.sqrt(rng.uniform(0.05**2, 0.5**2, DEVICES))
    loss_db = 128.1 + 37.6 * np.log10(distance) + 8 * rng.standard_normal(DEVICES)
    amplitude = 10 ** ((power_dbm - loss_db - NOISE_DBM) / 20)
    sizes = rng.integers(1000, 2001, DEVICES).astype(float)
    sizes[rng.permutation(DEVICES)[: DEVICES // 2]] /= 10
    weights = sizes / sizes.mean() if uneven else np.ones(DEVICES)
    return iid_channels(rng, ANTENNAS, DEVICES) * amplitude, weights
