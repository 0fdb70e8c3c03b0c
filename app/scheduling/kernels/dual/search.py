r"""The loops of dual pursuit: starts, and kicks from what they reach.

The search is for the set of the largest value :math:`\sum_{k\in S} v_k`, and of the most devices
among sets of equal value. Without priorities every :math:`v_k` is one and the value of a set is its
size. Each start (:mod:`.dual.starts`) and each kick (:mod:`.dual.kicks`) ends in a descent
(:mod:`.dual.descent`). For many devices a start climbs a soft count first (:mod:`.dual.soft`).

The constants here and there were chosen on iid channels of 20 devices and 6 antennas (seed 7100)
and of 100 and 16 (seeds 11 to 15), and confirmed on other channels, also of the paper's network
(seeds 8800 and 9100).
"""

import math

import numpy as np

from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.dual.descent import State
from app.scheduling.kernels.dual.kicks import BEHIND, Found, finish, finish_near
from app.scheduling.kernels.dual.soft import climb, climbing, new_climber, soft_share
from app.scheduling.kernels.dual.starts import (
    SeedArray,
    effort,
    first_receiver,
    search_space,
    start_with_everyone,
)
from app.scheduling.kernels.formulas import ENOUGH_GAIN
from app.scheduling.kernels.linalg.eigen import normalise, squared_norm
from app.scheduling.types import ComplexArray, MaskArray, RealArray

FINISHED = 0.25
"""Share of the climbs that are finished."""

KICK_VISITS = 3_000
"""Rounds times devices after which no kick begins, for each start that is asked for."""


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
