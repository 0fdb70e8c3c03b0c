r"""The loops of dual pursuit with a surface: add a few devices, then drop those that cost most.

A set of devices is served if rounds of :mod:`.surface.linearised` reach a
receiver and phases that serve it. Their multipliers say what each device costs, in relation to its
value.

add
    Add devices to those that are served, mostly near misses: an eighth of them at first, then half
    as many after each failure, down to one to three.
drop
    Do a few rounds for the set. If not all are served, drop those with the largest
    :math:`\lambda_k\|a_k\|/v_k`, down to the value of the best set.

As much value with another receiver, or a little less, is also a way forward.
"""

import numpy as np

from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.dual.descent import BATCH, SIDEWAYS, drop, worth_of
from app.scheduling.kernels.dual.kicks import NOISE
from app.scheduling.kernels.dual.starts import SeedArray, uniform
from app.scheduling.kernels.formulas import ENOUGH_MAGNITUDE
from app.scheduling.kernels.surface.linearised import (
    Joint,
    balance,
    move_jointly,
    move_to,
    new_joint,
)
from app.scheduling.kernels.surface.phases import Surface
from app.scheduling.types import ComplexArray, MaskArray, RealArray

NEAR_ROUNDS, ROUNDS = 12, 3
"""Limits on rounds for a set worth at most a mean device more than the best, and for others."""

STEADY = 1e-3
"""A round that raises the level by less than this share has failed."""

FAILED_ROUNDS = 3
"""A set is given up after this many failed rounds; each halves ρ."""

TRIES = 10
"""A search ends after this many failed kicks in a row."""

MOST_ADDED = 3
"""A kick adds up to this many devices, unless it adds a batch."""


@compiled
def drop_until_served(
    joint: Joint, count: int, goal: float, price: float, stop: MaskArray
) -> tuple[bool, int]:
    """Drop members until all that remain are served, or are worth less than ``goal``.

    Returns
    -------
    Whether all that remain are served, and the number of rounds.
    """
    values, unit = joint.dual.values, joint.dual.unit
    rounds = 0
    while count > 0:
        worth = worth_of(values, joint.dual.members, count)
        if worth <= goal - SIDEWAYS * unit:
            break
        current = price
        best = 0.0
        failures = 0
        for _ in range(NEAR_ROUNDS if worth <= goal + unit else ROUNDS):
            if stop[0]:
                return False, rounds
            rounds += 1
            level = move_jointly(joint, count, current)
            if level >= ENOUGH_MAGNITUDE:
                return True, rounds
            if level <= (1.0 + STEADY) * best:
                current *= 0.5
                failures += 1
                if failures == FAILED_ROUNDS:
                    break
            best = max(best, level)
        unserved = 0
        for i in range(count):
            if joint.dual.responses[joint.dual.members[i]] < ENOUGH_MAGNITUDE:
                unserved += 1
        beyond = int((worth - goal) / unit) - 1
        count = drop(joint.dual, count, max(1, min(unserved // BATCH, beyond)))
    return False, rounds


@compiled
def add_near_misses(
    joint: Joint, servable: MaskArray, multipliers: RealArray, batch: int, random: SeedArray
) -> int:
    """Add a few devices to those that are served, mostly near misses; return how many there are."""
    dual = joint.dual
    scores = np.full(servable.shape[0], -1.0)
    count = misses = 0
    for k in range(servable.shape[0]):
        dual.multipliers[k] = 0.0
        if dual.responses[k] >= ENOUGH_MAGNITUDE:
            dual.multipliers[k] = multipliers[k]
            dual.members[count] = k
            count += 1
        elif servable[k]:
            scores[k] = dual.responses[k] * (1.0 + NOISE * uniform(random))
            misses += 1
    size = max(batch, 1 + int(uniform(random) * MOST_ADDED))
    for _ in range(min(misses, size)):
        k = int(np.argmax(scores))
        scores[k] = -1.0
        dual.members[count] = k
        count += 1
    return count


@compiled
def joint_dual_pursuit(
    surface: Surface,
    servable: MaskArray,
    values: RealArray,
    receiver: ComplexArray,
    phases: ComplexArray,
    random: SeedArray,
    stop: MaskArray,
) -> int:
    """Search for the receiver and the phases that serve the devices of most value.

    Parameters
    ----------
    surface
        With channels scaled by what their devices need.
    servable
        (K,) the devices that some phases could serve.
    values
        (K,) what each device counts.
    receiver, phases
        (N,) of unit norm, and (M,): the start, replaced by the best found.
    random
        (1,) state of the random numbers of kicks, advanced.
    stop
        (1,), checked in every step: when it becomes true, the best so far is returned.

    Returns
    -------
    The number of rounds.
    """
    devices = servable.shape[0]
    possible = 0.0
    count = 0
    for k in range(devices):
        if servable[k]:
            possible += values[k]
            count += 1
    unit = possible / max(1, count)
    joint = new_joint(surface, values, unit)
    best = move_to(joint, receiver, phases)
    price = balance(joint, devices)
    # Where the next kick begins: about as much value as the best, perhaps others.
    local, local_phases, multipliers = receiver.copy(), phases.copy(), np.zeros(devices)
    batch = int((possible - best) / unit) // BATCH if unit > 0.0 else 0
    failures = rounds = 0
    while failures < TRIES and best < possible and not stop[0]:
        move_to(joint, local, local_phases)
        count = add_near_misses(joint, servable, multipliers, batch, random)
        served, used = drop_until_served(joint, count, best, price, stop)
        rounds += used
        failures += 1
        if not served:
            batch //= 2
            continue
        local[:] = joint.receiver
        local_phases[:] = joint.phases
        multipliers[:] = joint.dual.multipliers
        found = 0.0
        for k in range(devices):
            if joint.dual.responses[k] >= ENOUGH_MAGNITUDE:
                found += values[k]
        if found > best:
            best, failures = found, 0
            receiver[:] = local
            phases[:] = local_phases
    return rounds
