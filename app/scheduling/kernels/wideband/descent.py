r"""A descent over a band: fit a receiver to every subcarrier, and drop members until all keep up.

As :mod:`app.scheduling.kernels.dual.descent`, with the multipliers of a device summed over the
subcarriers: dropped are the devices with the largest
:math:`\sum_f \lambda_{k,f}\|a_{k,f}\|/v_k`. With the criterion *each*, only subcarriers that are
not served count.

Where a set fails on a few subcarriers only, these get other phases to start from: their
neighbours' receivers and random ones (*reseed*).
"""

import math

import numpy as np

from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.dual.descent import (
    BATCH,
    NEAR,
    NEAR_ROUNDS,
    SIDEWAYS,
    score_of_rank,
    worth_of,
)
from app.scheduling.kernels.dual.starts import SeedArray, uniform
from app.scheduling.kernels.dual.sweeps import add, align, response
from app.scheduling.kernels.formulas import ENOUGH_GAIN
from app.scheduling.kernels.wideband.band import (
    Band,
    hopeless,
    keeps,
    one_round,
    rests,
    return_to,
    squared_norm_of,
)
from app.scheduling.types import MaskArray

RESEEDS, RESEED_ROUNDS = 4, 8
"""Other phases that a subcarrier is started from, and the limit on rounds from each."""

HOPE, HOPE_SHARE = 1.2, 0.25
"""A set is reseeded if its mean cost is at most this, or this share of subcarriers and one fail."""

CONVERGED = 1e-3
"""A reseed ends where its phases cannot undercut the cost by more than this share."""

TOO_COSTLY = 1.1
"""With the criterion *each*, also where its phases cannot cost less than this."""


@compiled
def fit(band: Band, count: int, limit: int) -> tuple[bool, int]:
    """Do rounds until the receivers serve the members, or cannot with their current phases.

    Returns
    -------
    Whether they serve them, and the number of rounds, at most ``limit``.
    """
    costs, lowest, each = band.costs, band.lowest, band.each
    for rounds in range(1, limit + 1):
        for f in range(costs.shape[0]):
            if not rests(costs[f], each):
                one_round(band, f, count)
        if keeps(costs, each):
            return True, rounds
        if hopeless(costs, lowest, each):
            return False, rounds
    return False, limit


@compiled
def restart(band: Band, f: int, count: int, random: SeedArray, neighbour: int) -> None:
    """Fit subcarrier f from other phases, and keep what costs less.

    Parameters
    ----------
    neighbour
        How far away the subcarrier is whose receiver gives the phases; 0 for random ones.
    """
    multipliers, held, cost = band.multipliers[f].copy(), band.held[f].copy(), band.costs[f]
    rows = band.rows[f]
    start = np.zeros(held.shape[0], np.complex128)
    if neighbour != 0:
        start[:] = band.held[(f + neighbour) % band.costs.shape[0]]
    else:
        for i in range(count):
            factor = complex(uniform(random) - 0.5, uniform(random) - 0.5)
            for n in range(start.shape[0]):
                start[n] += factor * rows[band.members[i], n]
    band.multipliers[f, :] = 0.0
    band.receivers[f, :] = 0.0
    for i in range(count):
        align(rows, band.members[i], start)
    band.costs[f] = math.inf
    for _ in range(RESEED_ROUNDS):
        one_round(band, f, count)
        lowest, reached = band.lowest[f], min(cost, band.costs[f])
        if rests(band.costs[f], band.each) or lowest > reached * (1.0 - CONVERGED):
            break
        if band.each and lowest > TOO_COSTLY:
            break
    if not band.costs[f] < cost:
        return_to(band, f, count, held, multipliers, cost)


@compiled
def worth_reseeding(band: Band) -> bool:
    """Whether the members are so nearly served that other phases may serve them."""
    subcarriers = band.costs.shape[0]
    total = 0.0
    for cost in band.costs:
        if not band.each:
            total += cost
        elif not rests(cost, band.each):
            total += 1.0
    limit = HOPE_SHARE * subcarriers + 1.0 if band.each else HOPE * subcarriers
    return bool(total <= limit)


@compiled
def reseed(band: Band, count: int, random: SeedArray) -> bool:
    """Try other phases where the cost is largest; return whether the members are then served."""
    each = band.each
    for f in np.argsort(-band.costs):
        if band.costs[f] * ENOUGH_GAIN <= 1.0:
            break
        for attempt in range(RESEEDS):
            neighbour = 1 if attempt == 0 else -1 if attempt == 1 else 0
            restart(band, f, count, random, neighbour)
            if keeps(band.costs, each):
                return True
            if rests(band.costs[f], each):
                break
        if each and not rests(band.costs[f], each):
            return False
    return False


@compiled
def drop(band: Band, count: int, batch: int) -> int:
    """Drop the ``batch`` members with the largest Σ_f λ‖a‖/v; return how many remain."""
    members, scores, multipliers, sizes = band.members, band.scores, band.multipliers, band.sizes
    for i in range(count):
        scores[i] = 0.0
    for f in range(band.costs.shape[0]):
        if not rests(band.costs[f], band.each):
            for i in range(count):
                k = members[i]
                scores[i] += multipliers[f, k] * math.sqrt(sizes[f, k]) / band.values[k]
    least = score_of_rank(scores, count, batch)
    kept = 0
    for i in range(count):
        k = members[i]
        if scores[i] >= least and batch > 0:
            batch -= 1
            for f in range(band.costs.shape[0]):
                if multipliers[f, k] != 0.0:
                    add(band.rows[f], k, -multipliers[f, k], band.receivers[f])
                    multipliers[f, k] = 0.0
                    band.lowest[f] = 0.0
        else:
            members[kept] = k
            kept += 1
    return kept


@compiled
def count_unserved(band: Band, count: int) -> int:
    """Return how many members the current receivers do not serve, each taken alone."""
    subcarriers, scores, members = band.costs.shape[0], band.scores, band.members
    for i in range(count):
        scores[i] = 0.0
    for f in range(subcarriers):
        if rests(band.costs[f], band.each):
            continue
        size = squared_norm_of(band.receivers, f)
        for i in range(count):
            reached = band.responses[f, members[i]]
            need = size / (reached * reached) if reached > 0.0 else math.inf
            scores[i] = max(scores[i], need) if band.each else scores[i] + need / subcarriers
    unserved = 0
    for i in range(count):
        unserved += scores[i] > 1.0
    return unserved


@compiled
def join(band: Band, count: int) -> int:
    """Add, cheapest first, every device that the held receivers also serve; return how many."""
    subcarriers, devices = band.sizes.shape
    need, waiting, totals, costs = band.responses, band.holders, band.scores, band.costs
    for k in range(devices):
        totals[k] = 0.0 if band.able[k] else math.inf
    for i in range(count):
        totals[band.members[i]] = math.inf
    for f in range(subcarriers):
        size = squared_norm_of(band.held, f)
        for k in range(devices):
            if totals[k] < math.inf:
                value = response(band.rows[f], k, band.held[f])
                gain = value.real * value.real + value.imag * value.imag
                need[f, k] = size / gain if gain > 0.0 else math.inf
                totals[k] += max(need[f, k], costs[f])
                if (need[f, k] if band.each else totals[k] / subcarriers) * ENOUGH_GAIN > 1.0:
                    totals[k] = math.inf
    number = 0
    for k in range(devices):
        if totals[k] < math.inf:
            waiting[number] = k
            number += 1
    while number > 0:
        best, least, kept = -1, math.inf, 0
        for i in range(number):
            k = waiting[i]
            total = 0.0
            for f in range(subcarriers):
                total += max(need[f, k], costs[f])
            if band.each or total * ENOUGH_GAIN <= subcarriers:
                waiting[kept] = k
                if total < least:
                    best, least = kept, total
                kept += 1
        number = kept
        if number == 0:
            break
        k = waiting[best]
        number -= 1
        waiting[best] = waiting[number]
        band.members[count] = k
        count += 1
        for f in range(subcarriers):
            costs[f] = max(need[f, k], costs[f])
    in_order(band, count)
    return count


@compiled
def in_order(band: Band, count: int) -> None:
    """Put the members in ascending order, so that the same set has the same value to the bit."""
    is_member, members = band.scores, band.members
    is_member[:] = 0.0
    for i in range(count):
        is_member[members[i]] = 1.0
    place = 0
    for k in range(is_member.shape[0]):
        if is_member[k] == 1.0:
            members[place] = k
            place += 1


@compiled
def descend(
    band: Band, count: int, goal: float, random: SeedArray, stop: MaskArray
) -> tuple[float, int, int]:
    """Drop members until the receivers serve all that remain.

    Parameters
    ----------
    count
        Number of members.
    goal
        Value of the set to improve on; the search ends where it would lose too much.

    Returns
    -------
    Value and number of the devices served, 0 if none was found, and number of rounds.
    """
    members, values, unit = band.members, band.values, band.unit
    reseeds = band.costs.shape[0] > 1
    rounds = 0
    while count > 0 and not stop[0]:
        worth = worth_of(values, members, count)
        if worth <= goal - SIDEWAYS * unit:
            break
        near = worth <= goal + NEAR * unit
        fits, used = fit(band, count, NEAR_ROUNDS if near else 1)
        rounds += used
        if not fits and near and reseeds and worth > goal and worth_reseeding(band):
            fits = reseed(band, count, random)
        if fits:
            count = join(band, count)
            return worth_of(values, members, count), count, rounds
        beyond = int((worth - goal) / unit) - NEAR
        batch = max(1, min(count_unserved(band, count) // BATCH, beyond)) if beyond > 1 else 1
        count = drop(band, count, batch)
    return 0.0, 0, rounds
