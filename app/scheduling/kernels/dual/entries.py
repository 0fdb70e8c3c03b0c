r"""The entries of a frontier: the least tolerance known for every number of devices, or value.

A receiver c reaches device k at the level :math:`t_k = |h_k^H c|/(\|c\|\phi_k)`. It serves the n
devices with the largest levels for every :math:`\gamma \ge 1/t_{(n)}^2`, so each receiver that the
search meets offers one point for every n.
The best of all receivers is kept for each.

In general an entry is for the sets whose value :math:`\sum_{k\in S} v_k` is at least its target:
n, where every device counts as one.
"""

import math
from typing import NamedTuple

import numpy as np

from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.dual.sweeps import response
from app.scheduling.kernels.linalg.eigen import squared_norm
from app.scheduling.kernels.linalg.factor import scaled
from app.scheduling.types import ComplexArray, MaskArray, RealArray

LARGEST_TOLERANCE = 1e30
"""A device that needs more cannot be served: no problem has a larger tolerance."""

ROUNDING = 1.0 - 1e-12
"""Share of a target that counts as all of it."""


class Frontier(NamedTuple):
    """What is known so far, and what the problem needs.

    ``channels`` (K, N) by device, ``weights`` and ``values`` (K,), ``targets`` (P,) the rising
    values of the entries, ``gammas`` (P,), never falling, and ``receivers`` (P, N) of the entries,
    ``polished`` (P,) the tolerance at which each was last polished, ``levels`` (K,) and ``offers``
    (P,) for use inside.
    """

    channels: ComplexArray
    weights: RealArray
    values: RealArray
    targets: RealArray
    gammas: RealArray
    receivers: ComplexArray
    polished: RealArray
    levels: RealArray
    offers: RealArray


@compiled
def empty_frontier(
    rows: ComplexArray, weights: RealArray, values: RealArray, targets: RealArray
) -> Frontier:
    """Return a frontier that knows no receiver yet.

    Parameters
    ----------
    rows
        (K, N) channels by device.
    weights, values
        (K,) φ and v.
    targets
        (P,) rising values of the entries.
    """
    devices, antennas = rows.shape
    points = targets.shape[0]
    return Frontier(
        rows,
        weights,
        values,
        targets * ROUNDING,
        np.full(points, math.inf),
        np.zeros((points, antennas), np.complex128),
        np.full(points, math.inf),
        np.empty(devices),
        np.empty(points),
    )


@compiled
def known_tolerance(frontier: Frontier, worth: float) -> float:
    """Return the least tolerance known for a set of this value."""
    gammas = frontier.gammas
    entry = int(np.searchsorted(frontier.targets, worth, side="right")) - 1
    return float(gammas[max(0, entry)])


@compiled
def improves(frontier: Frontier) -> bool:
    """Return whether the levels need less tolerance than known for any entry; without sorting them.

    Level t counts for the entries with γ > 1/t². They are the last ones, since γ never falls.
    """
    levels, gammas, offers = frontier.levels, frontier.gammas, frontier.offers
    points = gammas.shape[0]
    offers[:] = 0.0
    for k in range(levels.shape[0]):
        if levels[k] > 0.0:
            low, high = 0, points
            while low < high:
                middle = (low + high) // 2
                if gammas[middle] * levels[k] * levels[k] > 1.0:
                    high = middle
                else:
                    low = middle + 1
            if low < points:
                offers[low] += frontier.values[k]
    worth = 0.0
    for entry in range(points):
        worth += offers[entry]
        if worth >= frontier.targets[entry]:
            return True
    return False


@compiled
def enter(frontier: Frontier, receiver: ComplexArray) -> None:
    """Keep ``receiver`` for every entry where it needs less tolerance than the one before."""
    levels, gammas = frontier.levels, frontier.gammas
    size = squared_norm(receiver)
    if not size > 0.0:
        return
    scale = 1.0 / math.sqrt(size)
    for k in range(levels.shape[0]):
        value = response(frontier.channels, k, receiver)
        magnitude = math.sqrt(value.real * value.real + value.imag * value.imag) * scale
        levels[k] = magnitude / frontier.weights[k]
    if not improves(frontier):
        return
    worth = 0.0
    entry = 0
    for k in np.argsort(-levels):
        if not levels[k] > 0.0:
            break
        worth += frontier.values[k]
        gamma = 1.0 / (levels[k] * levels[k])
        while entry < gammas.shape[0] and worth >= frontier.targets[entry]:
            if gamma < gammas[entry]:
                gammas[entry] = gamma
                for n in range(receiver.shape[0]):
                    frontier.receivers[entry, n] = scaled(receiver[n], scale)
            entry += 1


@compiled
def enter_alone(frontier: Frontier, stop: MaskArray) -> float:
    """Enter the matched receiver of every device.

    Returns
    -------
    The tolerance of the weakest device that can be served alone, at most
    :data:`LARGEST_TOLERANCE`; 0 if there is none.
    """
    rows = frontier.channels
    widest = 0.0
    for k in range(rows.shape[0]):
        if stop[0]:
            break
        enter(frontier, rows[k])
        strength = math.sqrt(squared_norm(rows[k]))
        needed = frontier.weights[k] / strength
        if strength > 0.0 and needed * needed <= LARGEST_TOLERANCE:
            widest = max(widest, needed)
    return widest * widest
