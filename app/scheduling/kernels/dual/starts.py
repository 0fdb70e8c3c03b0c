"""The starts of dual pursuit: who begins, with what phases, and how much effort there is."""

import numpy as np
from numpy.typing import NDArray

from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.dual.descent import State, new_state
from app.scheduling.kernels.dual.sweeps import add, align, scaled_rows
from app.scheduling.kernels.formulas import ENOUGH_GAIN
from app.scheduling.kernels.linalg.eigen import squared_norm
from app.scheduling.types import ComplexArray, RealArray

SeedArray = NDArray[np.uint64]

FEW, FULL_EFFORT = 50, 125
"""The requested starts apply at FULL_EFFORT devices; otherwise scaled by FULL_EFFORT / max(FEW, K).

One more device is a smaller share of a larger set, and costs more to find.
"""

TRIES, MORE_TRIES = 3, 25
"""TRIES + K // MORE_TRIES failed kicks in a row end a start.

Beyond :data:`FULL_EFFORT` devices it has fewer tries than there are starts.
"""


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
def random_receiver(random: SeedArray, into: ComplexArray) -> None:
    """Write a receiver of random direction."""
    for n in range(into.shape[0]):
        into[n] = complex(uniform(random) - 0.5, uniform(random) - 0.5)


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
def start_with_everyone(state: State, random: SeedArray, start: int, given: ComplexArray) -> int:
    """Add all devices that can be served alone, with the phases of a start; return how many.

    Start 0 is ``given``, or the sum of the channels, each rotated in phase with the sum so far; the
    others are random.
    """
    rows, sizes, multipliers, _, members, _, receiver, _, _, _ = state
    aligning = start == 0 and given.shape[0] == 0
    receiver[:] = 0.0
    if start > 0:
        random_receiver(random, receiver)
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
        random_receiver(random, into)
    else:
        for k in range(state.rows.shape[0]):
            if state.sizes[k] >= ENOUGH_GAIN:
                align(state.rows, k, into)
                add(state.rows, k, 1.0, into)
