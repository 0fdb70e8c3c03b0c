r"""A descent: fit a receiver to a set of devices, and drop members until it serves the rest.

With :math:`a_k = h_k/\sqrt{q_k}` a unit receiver serves device k when :math:`|a_k^H c| \ge 1`.
The multiplier :math:`\lambda_k` of the least-norm problem (see
:mod:`.dual.sweeps`) says what device k costs: while the norm of a set's
receiver is too large, the devices with the largest :math:`\lambda_k\|a_k\|/v_k` are dropped.

Thresholds on values are in units of their mean over the devices that can be served alone.
"""

import math
from typing import NamedTuple

import numpy as np

from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.dual.sweeps import add, holding, norm_of, realign, response, sweep
from app.scheduling.kernels.formulas import ENOUGH_GAIN
from app.scheduling.kernels.linalg.eigen import squared_norm
from app.scheduling.types import ComplexArray, IndexArray, MaskArray, RealArray

NEAR = 3
"""A set is near the goal if it has at most this many devices of mean value more."""

NEAR_ROUNDS = 20
"""Limit on rounds of sweeps for a set near the goal, where each drop matters most; elsewhere one.

A set is given up sooner if its current phases cannot serve it.
"""

BATCH = 8
"""One in this many of the unserved members is dropped at a time."""

SIDEWAYS = 0.9
"""A kick that loses less than this, in units of the mean value, is accepted too.

Without priorities a loss is a whole device, so none is accepted.
"""


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
def new_state(rows: ComplexArray, sizes: RealArray, values: RealArray, unit: float) -> State:
    """Return a search with these channels, whose set and receiver are not yet chosen."""
    devices, antennas = rows.shape
    return State(
        rows,
        sizes,
        np.empty(devices),
        np.empty(devices),
        np.empty(devices, np.int64),
        np.empty(devices, np.int64),
        np.empty(antennas, np.complex128),
        np.empty(antennas, np.complex128),
        values,
        unit,
    )


@compiled
def count_served(state: State) -> tuple[float, int]:
    """Return the value and number of all devices that the receiver serves."""
    rows, receiver, values = state.rows, state.receiver, state.values
    required = squared_norm(receiver) * ENOUGH_GAIN
    worth = 0.0
    served = 0
    for k in range(rows.shape[0]):
        value = response(rows, k, receiver)
        if value.real * value.real + value.imag * value.imag >= required:
            worth += values[k]
            served += 1
    return worth, served


@compiled
def worth_of(values: RealArray, members: IndexArray, count: int) -> float:
    """Return the sum of ``values`` over the first ``count`` of ``members``."""
    worth = 0.0
    for i in range(count):
        worth += values[members[i]]
    return worth


@compiled
def one_round(state: State, count: int) -> float:
    """Sweep the members twice, align them, and return the smallest response over ‖c‖."""
    rows, sizes, multipliers, responses, members, holders, receiver, combined, _, _ = state
    parts, current = rows.view(np.float64), receiver.view(np.float64)
    total, turned = combined.view(np.float64), np.empty(2 * receiver.shape[0])
    sweep(parts, sizes, multipliers, members, count, current)
    held = holding(multipliers, members, count, holders)
    sweep(parts, sizes, multipliers, holders, held, current)
    smallest = realign(parts, multipliers, members, count, current, total, turned, responses)
    return smallest / norm_of(current)


@compiled
def attainable(
    combined: RealArray, multipliers: RealArray, members: IndexArray, count: int
) -> float:
    """Return a bound on the level min |a_kᴴc|/‖c‖ of the members for their current phases.

    Parameters
    ----------
    combined
        (2N,) parts of Σ λ_k b_k.
    """
    return norm_of(combined) / worth_of(multipliers, members, count)


@compiled
def fit(state: State, count: int, limit: int) -> tuple[bool, int]:
    """Do rounds until the receiver serves the members, or cannot with their current phases.

    Later phases might, but seldom do: in one of a hundred sets that more rounds would serve.

    Returns
    -------
    Whether it serves them, and the number of rounds, at most ``limit``.
    """
    rows, sizes, multipliers, responses, members, holders, receiver, combined, _, _ = state
    # The rounds are those of one_round, with views made once: they cost as much as a visit.
    parts, current = rows.view(np.float64), receiver.view(np.float64)
    total, turned = combined.view(np.float64), np.empty(2 * receiver.shape[0])
    for rounds in range(1, limit + 1):
        sweep(parts, sizes, multipliers, members, count, current)
        held = holding(multipliers, members, count, holders)
        sweep(parts, sizes, multipliers, holders, held, current)
        smallest = realign(parts, multipliers, members, count, current, total, turned, responses)
        level = smallest / norm_of(current)
        if level * level >= ENOUGH_GAIN:
            return True, rounds
        current[:] = total
        possible = attainable(total, multipliers, members, count)
        if possible * possible < ENOUGH_GAIN:
            return False, rounds
    return False, limit


@compiled
def score_of_rank(scores: RealArray, count: int, rank: int) -> float:
    """Return the one of the first ``count`` scores, not negative, that has this rank from above."""
    if rank > 1:
        return float(np.partition(scores[:count], count - rank)[count - rank])
    largest = 0.0
    for i in range(count):
        largest = max(largest, scores[i])
    return largest


@compiled
def drop(state: State, count: int, batch: int) -> int:
    """Drop the ``batch`` members with the largest λ_k‖a_k‖/v_k; return how many remain.

    At least one is dropped, also where overflow has left no numbers to compare. The responses are
    overwritten.
    """
    rows, sizes, multipliers, scores, members, _, receiver, _, values, _ = state
    for i in range(count):
        k = members[i]
        scores[i] = multipliers[k] * math.sqrt(sizes[k]) / values[k]
    least = score_of_rank(scores, count, batch)
    kept = 0
    for i in range(count):
        k = members[i]
        if scores[i] >= least and batch > 0:
            batch -= 1
            add(rows, k, -multipliers[k], receiver)
            multipliers[k] = 0.0
        else:
            members[kept] = k
            kept += 1
    return min(kept, count - 1)


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
    members, responses, values, unit = state.members, state.responses, state.values, state.unit
    rounds = 0
    # Each time at least one member is dropped.
    while count > 0 and not stop[0]:
        worth = worth_of(values, members, count)
        if worth <= goal - SIDEWAYS * unit:
            break
        fits, used = fit(state, count, NEAR_ROUNDS if worth <= goal + NEAR * unit else 1)
        rounds += used
        if fits:
            worth, served = count_served(state)
            return worth, served, rounds
        required = squared_norm(state.receiver)
        unserved = 0
        for i in range(count):
            if responses[members[i]] ** 2 < required:
                unserved += 1
        beyond = int((worth - goal) / unit) - NEAR
        batch = max(1, min(unserved // BATCH, beyond))
        count = drop(state, count, batch)
    return 0.0, 0, rounds
