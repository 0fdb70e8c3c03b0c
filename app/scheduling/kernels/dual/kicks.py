r"""Kicks: from a set that is served, add a few devices it just misses, and descend again.

The shortest step of a unit receiver c that serves device k has the length
:math:`(1 - |a_k^H c|)/\|a_k\|`: the shorter it is, the nearer the device.

A *finish* is a descent and kicks from what it reaches, until several in a row have failed.
"""

import math
from typing import NamedTuple

from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.dual.descent import SIDEWAYS, State, count_served, descend
from app.scheduling.kernels.dual.soft import start_near
from app.scheduling.kernels.dual.starts import SeedArray, uniform
from app.scheduling.kernels.dual.sweeps import add, align, response, rotate
from app.scheduling.kernels.formulas import ENOUGH_GAIN
from app.scheduling.kernels.linalg.eigen import squared_norm
from app.scheduling.types import ComplexArray, IndexArray, MaskArray, RealArray

BEHIND = 2.0
"""A start may begin this far behind the best beginning, in units of the mean value."""

MOST_ADDED = 5
"""A kick adds up to this many devices."""

NOISE = 0.5
"""How random the choice of devices is that a kick adds."""

SOFT_TRIES = 4
"""Failed kicks in a row that end the finish of a climb."""


@compiled
def kick(state: State, best: ComplexArray, multipliers: RealArray, random: SeedArray) -> int:
    """Return to a receiver and its multipliers, and add a few devices it just misses.

    Returns
    -------
    Number of members.
    """
    rows, sizes, current, responses, members, holders, receiver, _, _, _ = state
    required = squared_norm(best) * ENOUGH_GAIN
    enough = math.sqrt(required)
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
            step = (enough - magnitude) / math.sqrt(sizes[k])
            responses[misses] = step / (1.0 + NOISE * uniform(random))
            misses += 1
    size = min(misses, 1 + int(uniform(random) * MOST_ADDED))
    for _ in range(size):
        nearest = 0
        for i in range(1, misses):
            if responses[i] < responses[nearest]:
                nearest = i
        responses[nearest] = math.inf
        k = holders[nearest]
        align(rows, k, best)
        members[count] = k
        count += 1
    return count


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
        # As much value with another receiver is accepted too.
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
