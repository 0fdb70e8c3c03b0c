r"""The loops of dual pursuit: which devices to drop, guided by their multipliers.

With :math:`a_k = h_k/\sqrt{q_k}` a unit receiver serves device k when :math:`|a_k^H c| \ge 1`.
The multiplier :math:`\lambda_k` of the least-norm problem (see
:mod:`app.scheduling.kernels.least_norm`) says what device k costs: while the norm of a set's
receiver is too large, the devices with the largest :math:`\lambda_k\|a_k\|/v_k` are dropped.

The search is for the set of the largest value :math:`\sum_{k\in S} v_k`, and of the most devices
among sets of equal value. Without priorities every :math:`v_k` is one and the value of a set is its
size. Thresholds on values are in units of their mean over the devices that can be served alone.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.eigen import normalise, squared_norm
from app.scheduling.kernels.least_norm import (
    add,
    align,
    holding,
    realign,
    response,
    scaled_rows,
    sweep,
)
from app.scheduling.types import ComplexArray, IndexArray, MaskArray, RealArray

SeedArray = NDArray[np.uint64]

SERVED = 1.0 - 5e-10
"""Share of the required gain that counts as enough; the schedule's check allows twice the gap."""

NEAR = 1
"""A set is near the goal if it has at most this many devices of mean value more."""

NEAR_ROUNDS = 12
"""Rounds of sweeps for a set near the goal, where each drop matters most; elsewhere one."""

HOPELESS = 0.99
"""No more rounds for a set that cannot reach this level with its current phases."""

BATCH = 8
"""One in this many of the unserved members is dropped at a time."""

TRIES = 5
"""A start ends after this many failed kicks in a row."""

FULL_EFFORT = 100
"""Up to this many devices, every start is made; beyond, proportionally fewer, with fewer tries.

One more device is a smaller share of a larger set, and costs more to find.
"""

SIDEWAYS = 0.9
"""A kick that loses less than this, in units of the mean value, is also a way forward.

One that loses nothing always is; without priorities there is no loss between none and one device.
"""

NOISE = 0.5
"""How random the choice of devices is that a kick adds."""


class State(NamedTuple):
    """One search: a set of devices and the receiver being fitted to it.

    ``rows`` (K, N) aligned channels, ``sizes`` (K,) their squared norms, ``multipliers`` (K,),
    ``responses`` (K,), ``members`` and ``holders`` (K,) lists of devices, ``receiver`` and
    ``combined`` (N,), ``values`` (K,) of the devices and ``unit`` their mean.
    """

    rows: ComplexArray
    sizes: RealArray
    multipliers: RealArray
    responses: RealArray
    members: IndexArray
    holders: IndexArray
    receiver: ComplexArray
    combined: ComplexArray
    values: RealArray
    unit: float


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
def count_served(state: State) -> tuple[float, int]:
    """Return the value and number of all devices that the receiver serves."""
    required = squared_norm(state.receiver) * SERVED
    worth = 0.0
    served = 0
    for k in range(state.rows.shape[0]):
        value = response(state.rows, k, state.receiver)
        if value.real**2 + value.imag**2 >= required:
            worth += state.values[k]
            served += 1
    return worth, served


@compiled
def worth_of(state: State, count: int) -> float:
    """Return the value of the members."""
    worth = 0.0
    for i in range(count):
        worth += state.values[state.members[i]]
    return worth


@compiled
def one_round(state: State, count: int) -> float:
    """Sweep the members twice, align them, and return the smallest response over ‖c‖."""
    rows, sizes, multipliers, responses, members, holders, receiver, combined, _, _ = state
    sweep(rows, sizes, multipliers, members, count, receiver)
    held = holding(multipliers, members, count, holders)
    sweep(rows, sizes, multipliers, holders, held, receiver)
    smallest = realign(rows, multipliers, members, count, receiver, combined, responses)
    return smallest / math.sqrt(squared_norm(receiver))


@compiled
def attainable(state: State, count: int) -> float:
    """Return a bound on the level min |a_kᴴc|/‖c‖ of the members for their current phases."""
    total = 0.0
    for i in range(count):
        total += state.multipliers[state.members[i]]
    return math.sqrt(squared_norm(state.combined)) / total


@compiled
def drop(state: State, count: int, batch: int) -> int:
    """Drop the ``batch`` members with the largest λ_k‖a_k‖/v_k; return how many remain."""
    members, multipliers = state.members, state.multipliers
    scores = np.empty(count)
    for i in range(count):
        k = members[i]
        scores[i] = multipliers[k] * math.sqrt(state.sizes[k]) / state.values[k]
    least = np.max(scores) if batch == 1 else np.sort(scores)[count - batch]
    kept = 0
    for i in range(count):
        k = members[i]
        if scores[i] >= least and batch > 0:
            batch -= 1
            add(state.rows, k, -multipliers[k], state.receiver)
            multipliers[k] = 0.0
        else:
            members[kept] = k
            kept += 1
    return kept


@compiled
def descend(state: State, count: int, goal: float, stop: MaskArray) -> tuple[float, int, int]:
    """Drop members until the receiver serves all that remain.

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
    rounds = 0
    while count > 0 and not stop[0]:
        worth = worth_of(state, count)
        if worth <= goal - SIDEWAYS * state.unit:
            break
        for _ in range(NEAR_ROUNDS if worth <= goal + NEAR * state.unit else 1):
            rounds += 1
            level = one_round(state, count)
            if level * level >= SERVED:
                worth, served = count_served(state)
                return worth, served, rounds
            state.receiver[:] = state.combined
            if attainable(state, count) < HOPELESS:
                break
        required = squared_norm(state.receiver)
        unserved = 0
        for i in range(count):
            if state.responses[state.members[i]] ** 2 < required:
                unserved += 1
        beyond = int((worth - goal) / state.unit) - NEAR
        batch = max(1, min(unserved // BATCH, beyond))
        count = drop(state, count, batch)
    return 0.0, 0, rounds


@compiled
def begin(state: State, random: SeedArray, start: int, given: ComplexArray) -> int:
    """Add all devices that can be served alone, with the phases of a start; return how many.

    Start 0 is ``given``, or the sum of the channels, each rotated in phase with the sum so far; the
    others are random.
    """
    rows, receiver = state.rows, state.receiver
    aligning = start == 0 and given.shape[0] == 0
    receiver[:] = 0.0
    if start > 0:
        for n in range(receiver.shape[0]):
            receiver[n] = complex(uniform(random) - 0.5, uniform(random) - 0.5)
    elif not aligning:
        receiver[:] = given
    count = 0
    for k in range(rows.shape[0]):
        state.multipliers[k] = 0.0
        if state.sizes[k] >= SERVED:
            state.members[count] = k
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
    rows, members = state.rows, state.members
    required = squared_norm(best) * SERVED
    count = misses = 0
    for k in range(rows.shape[0]):
        state.multipliers[k] = 0.0
        if state.sizes[k] >= SERVED:
            magnitude = align(rows, k, best)
            if magnitude * magnitude >= required:
                state.multipliers[k] = multipliers[k]
                members[count] = k
                count += 1
            else:
                state.holders[misses] = k
                state.responses[misses] = magnitude * (1.0 + NOISE * uniform(random))
                misses += 1
    size = min(misses, 1 + int(uniform(random) * 3.0))
    for _ in range(size):
        nearest = np.argmax(state.responses[:misses])
        state.responses[nearest] = -1.0
        members[count] = state.holders[nearest]
        count += 1
    state.receiver[:] = 0.0
    for i in range(count):
        k = members[i]
        if state.multipliers[k] != 0.0:
            add(rows, k, state.multipliers[k], state.receiver)
    return count


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
    rows = scaled_rows(channels, needed)
    sizes = np.empty(devices)
    servable = 0
    total = 0.0
    for k in range(devices):
        sizes[k] = squared_norm(rows[k])
        if sizes[k] >= SERVED:
            servable += 1
            total += values[k]
    state = State(
        rows,
        sizes,
        np.empty(devices),
        np.empty(devices),
        np.empty(devices, np.int64),
        np.empty(devices, np.int64),
        np.empty(antennas, np.complex128),
        np.empty(antennas, np.complex128),
        values,
        total / max(1, servable),
    )
    random = np.array([seed], np.uint64)
    best = np.zeros(antennas, np.complex128)
    best[0] = 1.0
    # The best of all starts, of this start, and where its next kick begins.
    top = np.empty(antennas, np.complex128)
    local = np.empty(antennas, np.complex128)
    multipliers = np.empty(devices)
    most = 0.0
    served = rounds = 0
    starts = max(1, starts * FULL_EFFORT // max(FULL_EFFORT, servable))
    tries = min(TRIES, starts - 1)
    if servable <= FULL_EFFORT:
        # A few devices are quick to try.
        tries = max(TRIES, FULL_EFFORT // max(1, servable))
    for start in range(starts):
        if stop[0] or served == servable:
            break
        peak, size, used = descend(state, begin(state, random, start, given), 0.0, stop)
        rounds += used
        if size == 0:
            continue
        top[:] = state.receiver
        local[:] = state.receiver
        multipliers[:] = state.multipliers
        failures = 0
        if served > 0:
            # A later start gets fewer tries, the further it is behind.
            behind = int((most - peak) / state.unit) + 1
            failures = min(max(0, behind), tries - 1)
        while failures < tries and size < servable and not stop[0]:
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
