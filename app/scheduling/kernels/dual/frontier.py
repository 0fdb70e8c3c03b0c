r"""The loops of the frontier: the least tolerance for every value that is asked, in one search.

Every receiver that the search meets is held against the entries of
:mod:`.dual.entries`.
"""

import math

import numpy as np

from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.dual.descent import (
    SIDEWAYS,
    State,
    attainable,
    count_served,
    descend,
    drop,
    new_state,
    one_round,
    worth_of,
)
from app.scheduling.kernels.dual.entries import (
    Frontier,
    empty_frontier,
    enter,
    enter_alone,
    known_tolerance,
)
from app.scheduling.kernels.dual.least_norm import minimise_norm
from app.scheduling.kernels.dual.search import SeedArray, kick, start_with_everyone
from app.scheduling.kernels.dual.sweeps import response
from app.scheduling.kernels.formulas import ENOUGH_GAIN
from app.scheduling.kernels.linalg.eigen import squared_norm
from app.scheduling.kernels.linalg.factor import scaled
from app.scheduling.kernels.linalg.gram import by_device
from app.scheduling.types import ComplexArray, MaskArray, RealArray

PATHS, FULL_EFFORT = 12, 100
"""Paths down from all devices for each start that dual pursuit would make.

Beyond the second number of devices, inversely proportional to their number.
"""

PATH_ROUNDS = 8
"""Rounds of sweeps for a set on a path that may need less tolerance than known; else fewer."""

PATH_BATCH = 16
"""One in this many members is dropped at a time on a path."""

TRIES = 3
"""The search for a better point ends after this many failed kicks in a row."""

MOST_KICKS = 1000
"""Limit on the kicks for one point. Each success lowers its tolerance, so a few dozen are usual."""

BELOW = 1.0 - 1e-3
"""A better point has at most this share of the tolerance."""

TOLERANCE, FINAL_TOLERANCE = 1e-3, 2e-4
"""Polishing ends when the level is this close to its bound, relatively: on the way, at the end."""

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
def follow_path(frontier: Frontier, state: State, gamma: float, count: int, stop: MaskArray) -> int:
    """Drop members one after another, and enter the receivers of the sets on the way.

    A set is left early, without its receiver, when its bound for the current phases says that it
    needs more tolerance than known for as much value.

    Parameters
    ----------
    gamma
        That for which the channels of ``state`` are scaled.
    count
        Number of members.

    Returns
    -------
    Number of rounds.
    """
    rounds = 0
    while count > 0 and not stop[0]:
        needed = gamma / known_tolerance(frontier, worth_of(state.values, state.members, count))
        for number in range(PATH_ROUNDS):
            if stop[0]:
                return rounds
            one_round(state, count)
            rounds += 1
            if number == PATH_ROUNDS - 1:
                enter(frontier, state.receiver)
            state.receiver[:] = state.combined
            total = state.combined.view(np.float64)
            level = attainable(total, state.multipliers, state.members, count)
            if level * level < needed:
                break
        count = drop(state, count, max(1, count // PATH_BATCH))
    return rounds


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
    wanted = frontier.asked[entry]
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
        if worth >= wanted:
            polish_and_enter(frontier, state, TOLERANCE, stop)
            goal = -1.0
        else:
            enter(frontier, state.receiver)
    return rounds


@compiled
def frontier_pursuit(
    channels: ComplexArray,
    weights: RealArray,
    values: RealArray,
    asked: RealArray,
    largest: float,
    given: ComplexArray,
    starts: int,
    seed: np.uint64,
    stop: MaskArray,
) -> tuple[RealArray, ComplexArray, int]:
    """Search for the least tolerance that serves each of several values.

    Parameters
    ----------
    channels
        (N, K).
    weights, values
        (K,) φ and v.
    asked
        (P,) rising sums of v.
    largest
        The largest tolerance of interest.
    given
        (N,) first start, or empty.
    starts
        As for dual pursuit.
    stop
        (1,), checked in every step: when it becomes true, what is known so far is returned.

    Returns
    -------
    gammas (P,), never falling, infinite where nothing was found; receivers (P, N); rounds.
    """
    rows = by_device(channels)
    devices = rows.shape[0]
    frontier = empty_frontier(rows, weights, values, asked)
    # Its rows are scaled for each tolerance.
    state = new_state(np.empty_like(rows), np.empty(devices), values, np.sum(values) / devices)
    widest = enter_alone(frontier, stop)
    rounds = 0
    if not widest > 0.0:
        return frontier.gammas, frontier.receivers, rounds
    random = np.array([seed], np.uint64)
    points = frontier.gammas.shape[0]
    for start in range(max(1, PATHS * starts * FULL_EFFORT // max(FULL_EFFORT, devices))):
        if stop[0]:
            break
        # Everyone who can be served alone at some tolerance begins.
        rescale(frontier, state, 2.0 * widest)
        count = start_with_everyone(state, random, start, given)
        rounds += follow_path(frontier, state, 2.0 * widest, count, stop)
    for entry in range(1, points):
        polish_entry(frontier, state, entry, TOLERANCE, stop)
        rounds += lower_tolerance(frontier, state, entry, largest, random, stop)
    frontier.polished[:] = math.inf
    for entry in range(points):
        polish_entry(frontier, state, entry, FINAL_TOLERANCE, stop)
    return frontier.gammas, frontier.receivers, rounds
