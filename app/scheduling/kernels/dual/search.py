r"""The loops of dual pursuit: starts, and kicks from what they reach.

The search is for the set of the largest value :math:`\sum_{k\in S} v_k`, and of the most devices
among sets of equal value. Without priorities every :math:`v_k` is one and the value of a set is its
size. Each start and each kick ends in a descent (:mod:`.dual.descent`).

The constants here and there were chosen on iid channels of 20 devices and 6 antennas (seed 7100)
and of 100 and 16 (seeds 11 to 15), and confirmed on other channels, also of the paper's network
(seeds 8800 and 9100).
"""

import math

import numpy as np
from numpy.typing import NDArray

from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.dual.descent import SIDEWAYS, State, descend, new_state
from app.scheduling.kernels.dual.sweeps import add, align, response, rotate, scaled_rows
from app.scheduling.kernels.formulas import ENOUGH_GAIN
from app.scheduling.kernels.linalg.eigen import normalise, squared_norm
from app.scheduling.types import ComplexArray, MaskArray, RealArray

SeedArray = NDArray[np.uint64]

FEW, FULL_EFFORT = 50, 125
"""As many starts as asked are made for the second number of devices.

For others, inversely proportional to their number, down to the first: one more device is a smaller
share of a larger set, and costs more to find.
"""

TRIES, MORE_TRIES = 3, 25
"""A start ends after this many failed kicks in a row, and one more for every so many devices.

Beyond :data:`FULL_EFFORT` devices it has fewer tries than there are starts.
"""

BEHIND = 2.0
"""A start may begin this far behind the best beginning, in units of the mean value."""

MOST_ADDED = 5
"""A kick adds up to this many devices."""

NOISE = 0.5
"""How random the choice of devices is that a kick adds."""


@compiled
def uniform(random: SeedArray) -> float:
    """Return the next number in [0, 1) of a SplitMix64 sequence, whose state is ``random``."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    bits = random[0]
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    bits = bits ^ (bits >> np.uint64(31))
    return float(bits >> np.uint64(11)) * 2.0**-53


@compiled
def start_with_everyone(state: State, random: SeedArray, start: int, given: ComplexArray) -> int:
    """Add all devices that can be served alone, with the phases of a start; return how many.

    Start 0 is ``given``, or the sum of the channels, each rotated in phase with the sum so far; the
    others are random.
    """
    rows, sizes, multipliers, _, members, _, receiver, _, _, _ = state
    aligning = start == 0 and given.shape[0] == 0
    receiver[:] = 0.0
    if start > 0:
        for n in range(receiver.shape[0]):
            receiver[n] = complex(uniform(random) - 0.5, uniform(random) - 0.5)
    elif not aligning:
        receiver[:] = given
    count = 0
    for k in range(rows.shape[0]):
        multipliers[k] = 0.0
        if sizes[k] >= ENOUGH_GAIN:
            members[count] = k
            count += 1
            align(rows, k, receiver)
            if aligning:
                add(rows, k, 1.0, receiver)
    receiver[:] = 0.0
    return count


@compiled
def kick(state: State, best: ComplexArray, multipliers: RealArray, random: SeedArray) -> int:
    """Return to a receiver and its multipliers, and add a few devices it just misses.

    Returns
    -------
    Number of members.
    """
    rows, sizes, current, responses, members, holders, receiver, _, _, _ = state
    required = squared_norm(best) * ENOUGH_GAIN
    receiver[:] = 0.0
    count = misses = 0
    for k in range(rows.shape[0]):
        current[k] = 0.0
        if sizes[k] < ENOUGH_GAIN:
            continue
        value = response(rows, k, best)
        gain = value.real * value.real + value.imag * value.imag
        magnitude = math.sqrt(gain)
        if gain >= required:
            rotate(rows, k, value.real / magnitude, value.imag / magnitude)
            members[count] = k
            count += 1
            if multipliers[k] != 0.0:
                current[k] = multipliers[k]
                add(rows, k, current[k], receiver)
        else:
            holders[misses] = k
            responses[misses] = magnitude * (1.0 + NOISE * uniform(random))
            misses += 1
    size = min(misses, 1 + int(uniform(random) * MOST_ADDED))
    for _ in range(size):
        nearest = 0
        for i in range(1, misses):
            if responses[i] > responses[nearest]:
                nearest = i
        responses[nearest] = -1.0
        k = holders[nearest]
        align(rows, k, best)
        members[count] = k
        count += 1
    return count


@compiled
def search_space(channels: ComplexArray, needed: RealArray, values: RealArray) -> tuple[State, int]:
    """Return a search that has not begun, and how many devices can be served alone."""
    devices = channels.shape[1]
    rows = scaled_rows(channels, needed)
    sizes = np.empty(devices)
    servable = 0
    total = 0.0
    for k in range(devices):
        sizes[k] = squared_norm(rows[k])
        if sizes[k] >= ENOUGH_GAIN:
            servable += 1
            total += values[k]
    return new_state(rows, sizes, values, total / max(1, servable)), servable


@compiled
def effort(starts: int, servable: int) -> tuple[int, int]:
    """Return how many starts are made, and how many failed kicks in a row end each."""
    starts = max(1, starts * FULL_EFFORT // max(FEW, servable))
    tries = TRIES + servable // MORE_TRIES
    if servable > FULL_EFFORT:
        tries = min(tries, starts - 1)
    return starts, tries


@compiled
def dual_pursuit(
    channels: ComplexArray,
    needed: RealArray,
    values: RealArray,
    given: ComplexArray,
    starts: int,
    seed: np.uint64,
    stop: MaskArray,
) -> tuple[ComplexArray, int, int]:
    """Search from several starts for the receiver that serves the devices of most value.

    Parameters
    ----------
    channels
        (N, K).
    needed
        (K,) magnitude √q_k of the response that each device needs.
    values
        (K,) positive v_k.
    given
        (N,) first start, or empty.
    seed
        Seed of the random starts and kicks.
    stop
        (1,), checked in every step: when it becomes true, the best so far is returned.

    Returns
    -------
    receiver (N,), number of devices it serves (0 if none was found), rounds of sweeps.
    """
    antennas, devices = channels.shape
    state, servable = search_space(channels, needed, values)
    starts, tries = effort(starts, servable)
    random = np.array([seed], np.uint64)
    best = np.zeros(antennas, np.complex128)
    best[0] = 1.0
    # The best of all starts, of this start, and where its next kick begins.
    top = np.empty(antennas, np.complex128)
    local = np.empty(antennas, np.complex128)
    multipliers = np.empty(devices)
    most = first = 0.0
    served = rounds = 0
    for start in range(starts):
        if stop[0] or served == servable:
            break
        count = start_with_everyone(state, random, start, given)
        peak, size, used = descend(state, count, max(0.0, first - BEHIND * state.unit), stop)
        rounds += used
        if size == 0:
            continue
        first = max(first, peak)
        top[:] = state.receiver
        local[:] = state.receiver
        multipliers[:] = state.multipliers
        failures = 0
        if served > 0:
            # A later start gets fewer tries, the further it is behind.
            behind = int((most - peak) / state.unit) + 1
            failures = min(max(0, behind), tries - 1)
        for _ in range(tries * (servable + 1)):
            if failures >= tries or size == servable or stop[0]:
                break
            worth, count, used = descend(state, kick(state, local, multipliers, random), peak, stop)
            rounds += used
            failures += 1
            if count == 0 or worth <= peak - SIDEWAYS * state.unit:
                continue
            # As much value with another receiver: also a way forward.
            local[:] = state.receiver
            multipliers[:] = state.multipliers
            if worth > peak or (worth == peak and count >= size):
                failures = failures if worth == peak and count == size else 0
                peak, size = worth, count
                top[:] = local
        if peak > most or (peak == most and size > served):
            most, served = peak, size
            best[:] = top
    normalise(best)
    return best, served, rounds
