r"""The loops of dual pursuit: starts, and kicks from what they reach.

The search is for the set of the largest value :math:`\sum_{k\in S} v_k`, and of the most devices
among sets of equal value. Without priorities every :math:`v_k` is one and the value of a set is its
size. Each start and each kick ends in a descent (:mod:`.dual.descent`). For many devices a start
climbs a soft count first (:mod:`.dual.soft`).

The constants here and there were chosen on iid channels of 20 devices and 6 antennas (seed 7100)
and of 100 and 16 (seeds 11 to 15), and confirmed on other channels, also of the paper's network
(seeds 8800 and 9100).
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.dual.descent import (
    SIDEWAYS,
    State,
    count_served,
    descend,
    new_state,
)
from app.scheduling.kernels.dual.soft import (
    climb,
    climbing,
    new_climber,
    soft_share,
    start_near,
)
from app.scheduling.kernels.dual.sweeps import add, align, response, rotate, scaled_rows
from app.scheduling.kernels.formulas import ENOUGH_GAIN
from app.scheduling.kernels.linalg.eigen import normalise, squared_norm
from app.scheduling.types import ComplexArray, IndexArray, MaskArray, RealArray

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

FINISHED = 0.35
"""Share of the climbs that are finished."""

SOFT_TRIES = 4
"""Failed kicks in a row that end the finish of a climb."""

KICK_VISITS = 4_000
"""Rounds times devices after which no kick begins, for each start that is asked for."""


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
def first_receiver(state: State, number: int, random: SeedArray, into: ComplexArray) -> None:
    """Write where a climb begins: the sum of the channels in phase for the first, else random."""
    into[:] = 0.0
    if number > 0:
        for n in range(into.shape[0]):
            into[n] = complex(uniform(random) - 0.5, uniform(random) - 0.5)
    else:
        for k in range(state.rows.shape[0]):
            if state.sizes[k] >= ENOUGH_GAIN:
                align(state.rows, k, into)
                add(state.rows, k, 1.0, into)


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


class Found(NamedTuple):
    """What a search has found, and its work space.

    ``worth`` (2,) the value of the best set, and the largest of the first sets of starts;
    ``counts`` (2,) the size of the best set, and rounds so far; receivers (N,): ``best`` of all,
    ``top`` of this start, and ``local`` where its next kick begins; ``multipliers`` (K,) there.
    """

    worth: RealArray
    counts: IndexArray
    best: ComplexArray
    top: ComplexArray
    local: ComplexArray
    multipliers: RealArray


@compiled
def finish(
    state: State,
    found: Found,
    count: int,
    peak: float,
    size: int,
    goal: float,
    tries: int,
    last_round: float,
    servable: int,
    random: SeedArray,
    stop: MaskArray,
) -> None:
    """Descend from the members of ``state``, then kick, and keep the best set.

    Parameters
    ----------
    count
        Number of members.
    peak, size
        Value and number of the devices that ``found.top`` serves already; 0 if it is not set.
    goal
        As for :func:`descend`.
    tries
        How many failed kicks in a row end it.
    last_round
        No kick begins after so many rounds of the whole search.
    """
    worth, counts, best, top, local, multipliers = found
    unit = state.unit
    first, reached, used = descend(state, count, goal, stop)
    counts[1] += used
    failures = tries
    if reached > 0:
        worth[1] = max(worth[1], first)
        local[:] = state.receiver
        multipliers[:] = state.multipliers
        if first >= peak:
            peak, size = first, reached
            top[:] = local
        failures = 0
        if counts[0] > 0:
            # A later start gets fewer tries, the further it is behind.
            failures = min(max(0, int((worth[0] - peak) / unit) + 1), tries - 1)
    for _ in range(tries * (servable + 1)):
        if failures >= tries or size == servable or counts[1] >= last_round or stop[0]:
            break
        count = kick(state, local, multipliers, random)
        value, reached, used = descend(state, count, peak, stop)
        counts[1] += used
        failures += 1
        if reached == 0 or value <= peak - SIDEWAYS * unit:
            continue
        # As much value with another receiver: also a way forward.
        local[:] = state.receiver
        multipliers[:] = state.multipliers
        if value > peak or (value == peak and reached >= size):
            failures = failures if value == peak and reached == size else 0
            peak, size = value, reached
            top[:] = local
    if peak > worth[0] or (peak == worth[0] and size > counts[0]):
        worth[0], counts[0] = peak, size
        best[:] = top


@compiled
def finish_near(
    state: State,
    found: Found,
    unit: ComplexArray,
    last_round: float,
    servable: int,
    random: SeedArray,
    stop: MaskArray,
) -> None:
    """Finish from all that a unit receiver serves or nearly serves; the receiver itself counts."""
    state.receiver[:] = unit
    peak, size = count_served(state)
    found.top[:] = unit
    goal = max(peak, found.worth[0] - BEHIND * state.unit)
    count = start_near(state, unit, ENOUGH_GAIN)
    finish(state, found, count, peak, size, goal, SOFT_TRIES, last_round, servable, random, stop)


@compiled
def climb_and_finish(
    state: State, found: Found, starts: int, servable: int, random: SeedArray, stop: MaskArray
) -> None:
    """Make all climbs, and finish the best of them, the best first."""
    climbs, steps = climbing(starts, servable)
    if climbs == 0:
        return
    climber = new_climber(state.rows, state.sizes, state.values, ENOUGH_GAIN)
    pool = np.empty((climbs, found.best.shape[0]), np.complex128)
    scores = np.full(climbs, -1.0)
    everything = np.sum(climber.values) * (1.0 - 1e-12)
    made = 0
    for number in range(climbs):
        if number > 0 and (stop[0] or scores[number - 1] >= everything):
            break
        first_receiver(state, number, random, pool[number])
        scores[number] = climb(climber, pool[number], steps)
        made += 1
    order = np.argsort(-scores[:made])
    last_round = found.counts[1] + soft_share(servable) * KICK_VISITS * starts / servable
    for number in range(min(made, max(1, int(climbs * FINISHED + 0.5)))):
        if number > 0 and (stop[0] or found.counts[0] == servable or found.counts[1] >= last_round):
            break
        finish_near(state, found, pool[order[number]], last_round, servable, random, stop)


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
        (N,) a receiver to begin with, or empty; the result serves at least its value.
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
    random = np.array([seed], np.uint64)
    found = Found(
        np.zeros(2),
        np.zeros(2, np.int64),
        np.zeros(antennas, np.complex128),
        np.empty(antennas, np.complex128),
        np.empty(antennas, np.complex128),
        np.empty(devices),
    )
    found.best[0] = 1.0
    if servable > 0 and squared_norm(given) > 0.0:
        unit = given.copy()
        normalise(unit)
        last_round = KICK_VISITS / servable
        finish_near(state, found, unit, last_round, servable, random, stop)
    if servable > found.counts[0] and not stop[0]:
        climb_and_finish(state, found, starts, servable, random, stop)
    starts, tries = effort(starts, servable)
    for start in range(int((1.0 - soft_share(servable)) * starts + 0.5)):
        if stop[0] or found.counts[0] == servable:
            break
        count = start_with_everyone(state, random, start, given[:0])
        goal = max(0.0, found.worth[1] - BEHIND * state.unit)
        finish(state, found, count, 0.0, 0, goal, tries, math.inf, servable, random, stop)
    normalise(found.best)
    return found.best, found.counts[0], found.counts[1]
