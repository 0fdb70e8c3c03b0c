r"""The loops of the frontier: the least tolerance for each of several values, in one search.

Every receiver that the search meets is held against the entries of :mod:`.dual.entries`. Paths down
from all devices come first; then the tolerance of each entry is lowered (:mod:`.dual.lowering`).
The more devices there are, the more of the effort goes into climbs (:mod:`.dual.soft`).
"""

import math

import numpy as np

from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.dual.descent import (
    State,
    attainable,
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
from app.scheduling.kernels.dual.lowering import (
    TOLERANCE,
    climb_to_entry,
    lower_tolerance,
    polish_entry,
    rescale,
)
from app.scheduling.kernels.dual.soft import soft_share
from app.scheduling.kernels.dual.starts import start_with_everyone
from app.scheduling.kernels.linalg.gram import by_device
from app.scheduling.types import ComplexArray, MaskArray, RealArray

PATHS, FULL_EFFORT = 12, 100
"""Paths down from all devices for each start that dual pursuit would make.

Beyond the second number of devices, inversely proportional to their number. Where all starts are
soft, half as many.
"""

PATH_ROUNDS = 8
"""Rounds of sweeps for a set on a path that may need less tolerance than known; else fewer."""

PATH_BATCH = 16
"""One in this many members is dropped at a time on a path."""

FINAL_TOLERANCE = 2e-4
"""Polishing at the end goes on until the level is this close to its bound, relatively."""


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
def frontier_pursuit(
    channels: ComplexArray,
    weights: RealArray,
    values: RealArray,
    targets: RealArray,
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
    targets
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
    frontier = empty_frontier(rows, weights, values, targets)
    # Its rows are scaled for each tolerance.
    state = new_state(np.empty_like(rows), np.empty(devices), values, np.sum(values) / devices)
    widest = enter_alone(frontier, stop)
    rounds = 0
    if not widest > 0.0:
        return frontier.gammas, frontier.receivers, rounds
    random = np.array([seed], np.uint64)
    points = frontier.gammas.shape[0]
    paths = PATHS * (1.0 - soft_share(devices) / 2.0) * FULL_EFFORT / max(FULL_EFFORT, devices)
    for start in range(max(1, int(paths * starts))):
        if stop[0]:
            break
        # Everyone who can be served alone at some tolerance begins.
        rescale(frontier, state, 2.0 * widest)
        count = start_with_everyone(state, random, start, given)
        rounds += follow_path(frontier, state, 2.0 * widest, count, stop)
    for entry in range(1, points):
        rounds += climb_to_entry(frontier, state, entry, largest, starts, random, stop)
        polish_entry(frontier, state, entry, TOLERANCE, stop)
        rounds += lower_tolerance(frontier, state, entry, largest, random, stop)
    frontier.polished[:] = math.inf
    for entry in range(points):
        polish_entry(frontier, state, entry, FINAL_TOLERANCE, stop)
    return frontier.gammas, frontier.receivers, rounds
