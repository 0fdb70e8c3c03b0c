r"""The loops of wideband dual pursuit: starts, and kicks from what they reach.

As :mod:`app.scheduling.kernels.dual.search`, with descents over a band
(:mod:`app.scheduling.kernels.wideband.descent`). With one subcarrier its descents are the same; its
kicks add the devices that miss the smallest shares of what they need.
"""

import math

import numpy as np

from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.dual.descent import SIDEWAYS
from app.scheduling.kernels.dual.kicks import BEHIND, MOST_ADDED, NOISE
from app.scheduling.kernels.dual.starts import SeedArray, effort, uniform
from app.scheduling.kernels.dual.sweeps import add, align, response
from app.scheduling.kernels.wideband.band import (
    Band,
    cost_of,
    new_band,
    return_to,
    squared_norm_of,
)
from app.scheduling.kernels.wideband.descent import descend
from app.scheduling.types import ComplexArray, MaskArray, RealArray

MOST_TRIES = 10
"""Failed kicks in a row after which a start ends, if there are many subcarriers."""


@compiled
def band_effort(starts: int, servable: int, subcarriers: int) -> tuple[int, int]:
    """Return how many starts are made, and how many failed kicks in a row end each.

    Starts differ less, the more subcarriers they average over: there are fewer, with more tries.
    """
    starts, tries = effort(starts, servable)
    root = math.sqrt(subcarriers)
    return max(1, int(starts / root + 0.5)), max(tries, min(MOST_TRIES, int(tries * root)))


@compiled
def start_with_everyone(band: Band, random: SeedArray, start: int, given: ComplexArray) -> int:
    """Add all devices that can be served alone, with the phases of a start; return how many.

    Start 0 is ``given`` (F, N) or, if that is empty, on every subcarrier the sum of the channels,
    each rotated in phase with the sum so far; the others are random.
    """
    aligning = start == 0 and given.shape[0] == 0
    count = 0
    for k in range(band.able.shape[0]):
        if band.able[k]:
            band.members[count] = k
            count += 1
    band.multipliers[:, :] = 0.0
    for f in range(band.costs.shape[0]):
        rows, receiver = band.rows[f], band.receivers[f]
        receiver[:] = 0.0
        if start > 0:
            for n in range(receiver.shape[0]):
                receiver[n] = complex(uniform(random) - 0.5, uniform(random) - 0.5)
        elif not aligning:
            receiver[:] = given[f]
        for i in range(count):
            align(rows, band.members[i], receiver)
            if aligning:
                add(rows, band.members[i], 1.0, receiver)
        receiver[:] = 0.0
        band.costs[f] = math.inf
        band.lowest[f] = 0.0
    return count


@compiled
def kick(
    band: Band,
    inside: MaskArray,
    held: ComplexArray,
    costs: RealArray,
    multipliers: RealArray,
    random: SeedArray,
) -> int:
    """Return to a set and its receivers, and add a few devices that these just miss.

    Parameters
    ----------
    inside, held, costs, multipliers
        (K,), (F, N), (F,), (F, K) as :func:`keep_members` keeps them.

    Returns
    -------
    Number of members.
    """
    members, holders, near = band.members, band.holders, band.scores
    count = misses = 0
    for k in range(inside.shape[0]):
        if inside[k]:
            members[count] = k
            count += 1
        elif band.able[k]:
            holders[misses] = k
            near[misses] = 0.0
            misses += 1
    for f in range(costs.shape[0]):
        size = squared_norm_of(held, f)
        needed = math.sqrt(size if band.each else size / costs[f])
        for i in range(misses):
            value = response(band.rows[f], holders[i], held[f])
            reached = math.sqrt(value.real * value.real + value.imag * value.imag)
            near[i] += min(1.0, reached / needed)
    for i in range(misses):
        near[i] *= 1.0 + NOISE * uniform(random)
    for _ in range(min(misses, 1 + int(uniform(random) * MOST_ADDED))):
        nearest = 0
        for i in range(1, misses):
            if near[i] > near[nearest]:
                nearest = i
        near[nearest] = -1.0
        members[count] = holders[nearest]
        count += 1
    for f in range(costs.shape[0]):
        return_to(band, f, count, held[f], multipliers[f], math.inf)
        if costs.shape[0] > 1:
            # It may serve on this subcarrier whom it misses on others.
            band.costs[f] = cost_of(band, f, count, held[f])
    return count


@compiled
def keep_members(
    band: Band,
    count: int,
    inside: MaskArray,
    held: ComplexArray,
    costs: RealArray,
    multipliers: RealArray,
) -> None:
    """Keep the members as a mask, and their receivers, costs and multipliers."""
    inside[:] = False
    for i in range(count):
        inside[band.members[i]] = True
    held[:] = band.held
    costs[:] = band.costs
    multipliers[:] = band.multipliers


@compiled
def wideband_pursuit(
    channels: ComplexArray,
    needed: RealArray,
    values: RealArray,
    each: bool,
    given: ComplexArray,
    starts: int,
    seed: np.uint64,
    stop: MaskArray,
) -> tuple[ComplexArray, MaskArray, int]:
    """Search from several starts for the receivers that serve the devices of most value.

    Parameters
    ----------
    channels
        (F, N, K).
    needed
        (K,) magnitude √q_k of the response that each device needs.
    values
        (K,) positive v_k.
    each
        Whether every subcarrier must keep the tolerance, rather than their mean.
    given
        (F, N) first start, or empty.
    seed
        Seed of the random starts and kicks.
    stop
        (1,), checked in every step: when it becomes true, the best so far is returned.

    Returns
    -------
    receivers (F, N) of arbitrary norm, the devices that they serve (K,), rounds of sweeps.
    """
    subcarriers, antennas, devices = channels.shape
    band, servable = new_band(channels, needed, values, each)
    starts, tries = band_effort(starts, servable, subcarriers)
    random = np.array([seed], np.uint64)
    best = np.zeros((subcarriers, antennas), np.complex128)
    best[:, 0] = 1.0
    chosen = np.zeros(devices, np.bool_)
    # The best of this start, and where its next kick begins.
    top, local = np.empty_like(best), np.empty_like(best)
    top_inside, inside = np.zeros(devices, np.bool_), np.zeros(devices, np.bool_)
    costs, multipliers = np.empty(subcarriers), np.empty((subcarriers, devices))
    most = first = 0.0
    served = rounds = 0
    for start in range(starts):
        if stop[0] or served == servable:
            break
        count = start_with_everyone(band, random, start, given)
        goal = max(0.0, first - BEHIND * band.unit)
        peak, size, used = descend(band, count, goal, random, stop)
        rounds += used
        if size == 0:
            continue
        first = max(first, peak)
        keep_members(band, size, inside, local, costs, multipliers)
        top[:], top_inside[:] = local, inside
        failures = 0
        if served > 0:
            # A later start gets fewer tries, the further it is behind.
            failures = min(max(0, int((most - peak) / band.unit) + 1), tries - 1)
        while failures < tries and size < servable and not stop[0]:
            count = kick(band, inside, local, costs, multipliers, random)
            worth, count, used = descend(band, count, peak, random, stop)
            rounds += used
            failures += 1
            if count == 0 or worth <= peak - SIDEWAYS * band.unit:
                continue
            # As much value with other receivers is accepted too.
            keep_members(band, count, inside, local, costs, multipliers)
            if worth > peak or (worth == peak and count >= size):
                failures = failures if worth == peak and count == size else 0
                peak, size = worth, count
                top[:], top_inside[:] = local, inside
        if peak > most or (peak == most and size > served):
            most, served = peak, size
            best[:], chosen[:] = top, top_inside
    return best, chosen, rounds
