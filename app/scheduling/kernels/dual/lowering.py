"""Lowering the tolerance of one entry of a frontier: by polishing, climbs and kicks."""

import math

import numpy as np

from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.dual.descent import SIDEWAYS, State, count_served, descend
from app.scheduling.kernels.dual.entries import Frontier, enter
from app.scheduling.kernels.dual.kicks import kick
from app.scheduling.kernels.dual.least_norm import minimise_norm
from app.scheduling.kernels.dual.soft import (
    climb,
    new_climber,
    soft_share,
    start_near,
    steps_for,
)
from app.scheduling.kernels.dual.starts import SeedArray, random_receiver
from app.scheduling.kernels.dual.sweeps import response
from app.scheduling.kernels.formulas import ENOUGH_GAIN
from app.scheduling.kernels.linalg.eigen import squared_norm
from app.scheduling.kernels.linalg.factor import scaled
from app.scheduling.types import MaskArray

CLIMBS = 0.6
"""Climbs for each entry and each start that dual pursuit would make, if all starts are soft."""

TRIES = 3
"""The search for a better point ends after this many failed kicks in a row."""

MOST_KICKS = 1000
"""Limit on the kicks for one point. Each success lowers its tolerance, so a few dozen are usual."""

BELOW = 1.0 - 1e-3
"""A better point has at most this share of the tolerance."""

TOLERANCE = 1e-3
"""Polishing on the way ends when the level is this close to its bound, relatively."""

VISITS = 500
"""Limit on visits per device when a point is polished."""


@compiled
def rescale(frontier: Frontier, state: State, gamma: float) -> None:
    """Scale the channels of ``state`` for the tolerance ``gamma``."""
    root = math.sqrt(gamma)
    for k in range(frontier.weights.shape[0]):
        share = 1.0 / (frontier.weights[k] / root)
        for n in range(state.receiver.shape[0]):
            state.rows[k, n] = scaled(frontier.channels[k, n], share)
        state.sizes[k] = squared_norm(state.rows[k])


@compiled
def polish_and_enter(frontier: Frontier, state: State, tolerance: float, stop: MaskArray) -> None:
    """Polish the receiver of ``state`` for everyone it serves, and enter it."""
    required = squared_norm(state.receiver) * ENOUGH_GAIN
    count = 0
    for k in range(state.rows.shape[0]):
        value = response(state.rows, k, state.receiver)
        if value.real**2 + value.imag**2 >= required:
            state.members[count] = k
            count += 1
    if count > 0:
        members = state.members[:count]
        minimise_norm(state.rows, members, state.receiver, tolerance, VISITS * count, stop)
        enter(frontier, state.receiver)


@compiled
def polish_entry(
    frontier: Frontier, state: State, entry: int, tolerance: float, stop: MaskArray
) -> None:
    """Polish the receiver of an entry, unless that is done."""
    gamma = frontier.gammas[entry]
    if gamma < frontier.polished[entry] and not stop[0]:
        rescale(frontier, state, gamma)
        state.receiver[:] = frontier.receivers[entry]
        polish_and_enter(frontier, state, tolerance, stop)
        frontier.polished[entry] = frontier.gammas[entry]


@compiled
def climb_to_entry(
    frontier: Frontier,
    state: State,
    entry: int,
    largest: float,
    starts: int,
    random: SeedArray,
    stop: MaskArray,
) -> int:
    """Climb soft counts just below an entry's tolerance, and descend from the best climb.

    Parameters
    ----------
    largest
        The largest tolerance of interest.

    Returns
    -------
    Number of rounds.
    """
    gammas = frontier.gammas
    climbs = int(CLIMBS * starts * soft_share(state.rows.shape[0]) + 0.5)
    if climbs == 0 or gammas[entry - 1] >= largest or stop[0]:
        return 0
    rescale(frontier, state, min(gammas[entry], largest) * BELOW)
    climber = new_climber(state.rows, state.sizes, state.values, ENOUGH_GAIN)
    if climber.levels.shape[0] == 0:
        return 0
    unit, best = np.empty_like(state.receiver), np.empty_like(state.receiver)
    highest = -1.0
    for _ in range(climbs):
        if stop[0]:
            break
        random_receiver(random, unit)
        score = climb(climber, unit, steps_for(climber.levels.shape[0]))
        enter(frontier, unit)
        if score > highest:
            highest = score
            best[:] = unit
    state.receiver[:] = best
    goal, _ = count_served(state)
    _, served, rounds = descend(state, start_near(state, best, ENOUGH_GAIN), goal, stop)
    if served > 0:
        polish_and_enter(frontier, state, TOLERANCE, stop)
    return rounds


@compiled
def lower_tolerance(
    frontier: Frontier,
    state: State,
    entry: int,
    largest: float,
    random: SeedArray,
    stop: MaskArray,
) -> int:
    """Look for an entry's value at less tolerance, by kicks from the entry before.

    Parameters
    ----------
    largest
        The largest tolerance of interest.

    Returns
    -------
    Number of rounds.
    """
    gammas, start = frontier.gammas, frontier.receivers[entry - 1]
    local = start.copy()
    multipliers = np.zeros(frontier.weights.shape[0])
    target = frontier.targets[entry]
    rounds = failures = 0
    goal = -1.0
    for _ in range(MOST_KICKS):
        if failures >= TRIES or gammas[entry - 1] >= largest or stop[0]:
            break
        if goal < 0.0:
            # Just below the best so far, the entry before is the best known.
            rescale(frontier, state, min(gammas[entry], largest) * BELOW)
            local[:] = start
            multipliers[:] = 0.0
            state.receiver[:] = start
            goal, _ = count_served(state)
        worth, served, used = descend(state, kick(state, local, multipliers, random), goal, stop)
        rounds += used
        failures += 1
        if served == 0 or worth <= goal - SIDEWAYS * state.unit:
            continue
        if worth > goal:
            failures = 0
            goal = worth
        local[:] = state.receiver
        multipliers[:] = state.multipliers
        if worth >= target:
            polish_and_enter(frontier, state, TOLERANCE, stop)
            goal = -1.0
        else:
            enter(frontier, state.receiver)
    return rounds
