r"""The state of a wideband search: one set of devices, and a receiver for it on every subcarrier.

With :math:`a_{k,f} = h_{k,f}/\sqrt{q_k}` the *cost* of a receiver on subcarrier f is
:math:`\max_{k\in S} \|c_f\|^2/|a_{k,f}^H c_f|^2 = E_f/\varepsilon`. A set is served if its costs
are at most one, on average (criterion *mean*) or each (criterion *each*).

Every subcarrier has the least-norm problem of :mod:`app.scheduling.kernels.dual.sweeps`, whose
square is the least cost; the subcarriers share nothing but the set.
"""

import math
from typing import NamedTuple

import numpy as np

from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.dual.descent import worth_of
from app.scheduling.kernels.dual.sweeps import (
    add,
    align,
    holding,
    norm_of,
    realign,
    scaled_rows,
    sweep,
)
from app.scheduling.kernels.formulas import ENOUGH_GAIN
from app.scheduling.types import ComplexArray, IndexArray, MaskArray, RealArray


class Band(NamedTuple):
    """One search over F subcarriers.

    ``rows`` (F, K, N) aligned channels and ``parts`` (F, K, 2N) the same numbers, ``sizes`` (F, K)
    their squared norms, ``multipliers`` and ``responses`` (F, K), ``members``, ``holders`` and
    ``scores`` (K,), ``receivers`` (F, N) being fitted and ``currents`` (F, 2N) the same numbers,
    ``held`` (F, N) the best receivers for the members and ``costs`` (F,) theirs, ``lowest`` (F,)
    what no receiver with the current phases undercuts (0 if not known), ``combined`` and
    ``turned`` (2N,), ``able`` (K,) whether a device can be served alone, ``values`` (K,), ``unit``
    their mean over those devices, ``each`` the criterion.
    """

    rows: ComplexArray
    parts: RealArray
    sizes: RealArray
    multipliers: RealArray
    responses: RealArray
    members: IndexArray
    holders: IndexArray
    scores: RealArray
    receivers: ComplexArray
    currents: RealArray
    held: ComplexArray
    costs: RealArray
    lowest: RealArray
    combined: RealArray
    turned: RealArray
    able: MaskArray
    values: RealArray
    unit: float
    each: bool


@compiled
def squared_norm_of(vectors: ComplexArray, index: int) -> float:
    """Return ‖c‖² of one of the vectors; by index, because a view would cost more."""
    total = 0.0
    for n in range(vectors.shape[1]):
        entry = vectors[index, n]
        total += entry.real * entry.real + entry.imag * entry.imag
    return total


@compiled
def new_band(
    channels: ComplexArray, needed: RealArray, values: RealArray, each: bool
) -> tuple[Band, int]:
    """Return a search that has not begun, and how many devices can be served alone.

    Parameters
    ----------
    channels
        (F, N, K).
    needed
        (K,) magnitude √q_k of the response that each device needs.
    """
    subcarriers, antennas, devices = channels.shape
    rows = np.empty((subcarriers, devices, antennas), np.complex128)
    sizes = np.empty((subcarriers, devices))
    for f in range(subcarriers):
        rows[f] = scaled_rows(channels[f], needed)
        for k in range(devices):
            sizes[f, k] = squared_norm_of(rows[f], k)
    able = np.zeros(devices, np.bool_)
    servable = 0
    total = 0.0
    for k in range(devices):
        able[k] = keeps(1.0 / sizes[:, k], each)
        if able[k]:
            servable += 1
            total += values[k]
    receivers = np.zeros((subcarriers, antennas), np.complex128)
    band = Band(
        rows,
        rows.view(np.float64),
        sizes,
        np.zeros((subcarriers, devices)),
        np.empty((subcarriers, devices)),
        np.empty(devices, np.int64),
        np.empty(devices, np.int64),
        np.empty(devices),
        receivers,
        receivers.view(np.float64),
        np.zeros((subcarriers, antennas), np.complex128),
        np.empty(subcarriers),
        np.zeros(subcarriers),
        np.empty(2 * antennas),
        np.empty(2 * antennas),
        able,
        values,
        total / max(1, servable),
        each,
    )
    return band, servable


@compiled
def rests(cost: float, each: bool) -> bool:
    """Whether a subcarrier needs nothing more: each is judged alone, and this one is served."""
    return each and cost * ENOUGH_GAIN <= 1.0


@compiled
def keeps(costs: RealArray, each: bool) -> bool:
    """Whether costs (F,) keep the tolerance."""
    total = worst = 0.0
    for f in range(costs.shape[0]):
        total += costs[f]
        worst = max(worst, costs[f])
    return (worst if each else total / costs.shape[0]) * ENOUGH_GAIN <= 1.0


@compiled
def hopeless(costs: RealArray, lowest: RealArray, each: bool) -> bool:
    """Whether no receivers with the current phases keep the tolerance."""
    total = worst = 0.0
    for f in range(costs.shape[0]):
        total += min(lowest[f], costs[f])
        if not rests(costs[f], each):
            worst = max(worst, lowest[f])
    return (worst if each else total / costs.shape[0]) * ENOUGH_GAIN > 1.0


@compiled
def one_round(band: Band, f: int, count: int) -> None:
    """Sweep the members twice on subcarrier f and align them; hold the receiver if it costs less.

    These are the rounds of :func:`app.scheduling.kernels.dual.descent.fit`.
    """
    multipliers, current, combined = band.multipliers[f], band.currents[f], band.combined
    parts, sizes, members, holders = band.parts[f], band.sizes[f], band.members, band.holders
    sweep(parts, sizes, multipliers, members, count, current)
    number = holding(multipliers, members, count, holders)
    sweep(parts, sizes, multipliers, holders, number, current)
    smallest = realign(
        parts, multipliers, members, count, current, combined, band.turned, band.responses[f]
    )
    level = smallest / norm_of(current)
    cost = 1.0 / (level * level)
    if cost < band.costs[f]:
        band.costs[f] = cost
        for n in range(band.held.shape[1]):
            band.held[f, n] = complex(current[2 * n], current[2 * n + 1])
    for n in range(current.shape[0]):
        current[n] = combined[n]
    possible = norm_of(combined) / worth_of(multipliers, members, count)
    band.lowest[f] = 1.0 / (possible * possible)


@compiled
def return_to(
    band: Band, f: int, count: int, held: ComplexArray, multipliers: RealArray, cost: float
) -> None:
    """Return subcarrier f to a receiver (N,) and its multipliers (K,), for the current members."""
    rows, receiver = band.rows[f], band.receivers[f]
    receiver[:] = 0.0
    for k in range(multipliers.shape[0]):
        band.multipliers[f, k] = 0.0
    for i in range(count):
        k = band.members[i]
        align(rows, k, held)
        if multipliers[k] != 0.0:
            band.multipliers[f, k] = multipliers[k]
            add(rows, k, multipliers[k], receiver)
    band.held[f, :] = held
    band.costs[f] = cost
    band.lowest[f] = 0.0


@compiled
def cost_of(band: Band, f: int, count: int, receiver: ComplexArray) -> float:
    """Return what ``receiver`` (N,), with which the members are aligned, costs on subcarrier f."""
    least = math.inf
    for i in range(count):
        k = band.members[i]
        reached = 0.0
        for n in range(receiver.shape[0]):
            entry, other = band.rows[f, k, n], receiver[n]
            reached += entry.real * other.real + entry.imag * other.imag
        least = min(least, reached)
    size = 0.0
    for n in range(receiver.shape[0]):
        size += receiver[n].real * receiver[n].real + receiver[n].imag * receiver[n].imag
    return size / (least * least) if least > 0.0 else math.inf
