r"""The loops of the frontier: the least tolerance for every number of devices, in one search.

A receiver c reaches device k at the level :math:`t_k = (|h_k^H c|/\|c\| - e_k)/\phi_k`, with the
bound :math:`e_k` on the CSI error. It serves the n devices with the largest levels for every
:math:`\gamma \ge 1/t_{(n)}^2`, so each receiver that the search meets offers one point for every n.
The best of all receivers is kept for each.

With priorities, n counts in units of the mean value: entry n is for sets whose value is at least n
times it. For many devices the units are larger, so that there are no more than
:data:`MAX_POINTS` entries.
"""

import math
from typing import NamedTuple

import numpy as np

from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.dual import (
    SERVED,
    SIDEWAYS,
    SeedArray,
    State,
    begin,
    count_served,
    descend,
    drop,
    kick,
    one_round,
)
from app.scheduling.kernels.eigen import squared_norm
from app.scheduling.kernels.factor import scaled
from app.scheduling.kernels.gram import by_device
from app.scheduling.kernels.least_norm import minimise_norm, response
from app.scheduling.types import ComplexArray, MaskArray, RealArray

MAX_POINTS = 100
"""Most entries of a frontier: beyond as many devices, each stands for several."""

PATHS = 5
"""Paths down from all devices for each start that dual pursuit would make."""

PATH_ROUNDS = 4
"""Rounds of sweeps for each set on a path."""

PATH_BATCH = 16
"""One in this many members is dropped at a time on a path."""

TRIES = 4
"""The search for a better point ends after this many failed kicks in a row."""

BELOW = 1.0 - 1e-6
"""A better point has at most this share of the tolerance."""

ROUNDING = 1.0 - 1e-12
"""Share of a value that counts as all of it."""

TOLERANCE, FINAL_TOLERANCE = 1e-3, 2e-4
"""Polishing ends when the level is this close to its bound, relatively: on the way, at the end."""

VISITS = 500
"""Limit on visits per device when a point is polished."""


class Frontier(NamedTuple):
    """What is known so far, and what the problem needs.

    ``channels`` (K, N) by device, ``weights``, ``margins`` and ``values`` (K,), ``step`` the value
    between two entries, ``gammas`` (P,) and ``receivers`` (P, N) of the entries, ``polished`` (P,)
    the tolerance at which each was last polished, ``levels`` (K,) for use inside.
    """

    channels: ComplexArray
    weights: RealArray
    margins: RealArray
    values: RealArray
    step: float
    gammas: RealArray
    receivers: ComplexArray
    polished: RealArray
    levels: RealArray


@compiled
def enter(frontier: Frontier, receiver: ComplexArray) -> None:
    """Keep ``receiver`` for every entry where it needs less tolerance than the one before."""
    levels, gammas = frontier.levels, frontier.gammas
    size = squared_norm(receiver)
    if not size > 0.0:
        return
    scale = 1.0 / math.sqrt(size)
    for k in range(levels.shape[0]):
        value = response(frontier.channels, k, receiver)
        magnitude = math.sqrt(value.real * value.real + value.imag * value.imag) * scale
        levels[k] = (magnitude - frontier.margins[k]) / frontier.weights[k]
    worth = 0.0
    entry = 0
    for k in np.argsort(-levels):
        if not levels[k] > 0.0:
            break
        worth += frontier.values[k]
        gamma = 1.0 / (levels[k] * levels[k])
        while entry < gammas.shape[0] and worth >= frontier.step * (entry + 1) * ROUNDING:
            if gamma < gammas[entry]:
                gammas[entry] = gamma
                for n in range(receiver.shape[0]):
                    frontier.receivers[entry, n] = scaled(receiver[n], scale)
            entry += 1


@compiled
def rescale(frontier: Frontier, state: State, gamma: float) -> None:
    """Scale the channels of ``state`` for the tolerance ``gamma``."""
    root = math.sqrt(gamma)
    for k in range(frontier.weights.shape[0]):
        share = 1.0 / (frontier.weights[k] / root + frontier.margins[k])
        for n in range(state.receiver.shape[0]):
            state.rows[k, n] = scaled(frontier.channels[k, n], share)
        state.sizes[k] = squared_norm(state.rows[k])


@compiled
def follow(frontier: Frontier, state: State, count: int, stop: MaskArray) -> int:
    """Drop members one after another, and enter the receiver of every set; return the rounds."""
    rounds = 0
    while count > 0 and not stop[0]:
        for number in range(PATH_ROUNDS):
            if stop[0]:
                return rounds
            one_round(state, count)
            if number == PATH_ROUNDS - 1:
                enter(frontier, state.receiver)
            state.receiver[:] = state.combined
        rounds += PATH_ROUNDS
        count = drop(state, count, max(1, count // PATH_BATCH))
    return rounds


@compiled
def settle(frontier: Frontier, state: State, tolerance: float, stop: MaskArray) -> None:
    """Polish the receiver of ``state`` for everyone it serves, and enter it."""
    required = squared_norm(state.receiver) * SERVED
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
        settle(frontier, state, tolerance, stop)
        frontier.polished[entry] = frontier.gammas[entry]


@compiled
def improve(
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
    wanted = frontier.step * (entry + 1) * ROUNDING
    rounds = failures = 0
    goal = -1.0
    while failures < TRIES and gammas[entry - 1] < largest and not stop[0]:
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
            settle(frontier, state, TOLERANCE, stop)
            goal = -1.0
        else:
            enter(frontier, state.receiver)
    return rounds


@compiled
def frontier_pursuit(
    channels: ComplexArray,
    weights: RealArray,
    margins: RealArray,
    values: RealArray,
    largest: float,
    given: ComplexArray,
    starts: int,
    seed: np.uint64,
    stop: MaskArray,
) -> tuple[RealArray, ComplexArray, int]:
    """Search for the least tolerance of every number of devices.

    Parameters
    ----------
    channels
        (N, K).
    weights, margins, values
        (K,) φ, e and v.
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
    antennas, devices = channels.shape
    rows = by_device(channels)
    points = min(devices, MAX_POINTS)
    total = np.sum(values)
    frontier = Frontier(
        rows,
        weights,
        margins,
        values,
        total / points,
        np.full(points, math.inf),
        np.zeros((points, antennas), np.complex128),
        np.full(points, math.inf),
        np.empty(devices),
    )
    state = State(
        np.empty((devices, antennas), np.complex128),
        np.empty(devices),
        np.empty(devices),
        np.empty(devices),
        np.empty(devices, np.int64),
        np.empty(devices, np.int64),
        np.empty(antennas, np.complex128),
        np.empty(antennas, np.complex128),
        values,
        total / devices,
    )
    random = np.array([seed], np.uint64)
    widest = 0.0
    for k in range(devices):
        if stop[0]:
            break
        enter(frontier, rows[k])
        strength = math.sqrt(squared_norm(rows[k])) - margins[k]
        if strength > 0.0:
            widest = max(widest, weights[k] / strength)
    if not widest > 0.0:
        return frontier.gammas, frontier.receivers, 0
    rounds = 0
    paths = max(1, PATHS * starts * MAX_POINTS // max(MAX_POINTS, devices))
    for start in range(paths):
        if stop[0]:
            break
        # Everyone who can be served alone at some tolerance begins.
        rescale(frontier, state, 2.0 * widest * widest)
        rounds += follow(frontier, state, begin(state, random, start, given), stop)
    for entry in range(1, points):
        polish_entry(frontier, state, entry, TOLERANCE, stop)
        rounds += improve(frontier, state, entry, largest, random, stop)
    frontier.polished[:] = math.inf
    for entry in range(points):
        polish_entry(frontier, state, entry, FINAL_TOLERANCE, stop)
    return frontier.gammas, frontier.receivers, rounds
