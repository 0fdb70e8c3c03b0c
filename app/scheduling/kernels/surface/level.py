r"""The receiver and the phases with the largest level for a fixed set of devices.

The channels are scaled by what their devices need, so a unit receiver serves device k when
:math:`s_k = |y_k|^2 \ge 1`, with :math:`y_k = c^H h_k(\mu)`. The level of a set is its
smallest :math:`s_k`. Receiver and phases raise it in turn:

receiver
    The least-norm receiver of :mod:`.dual.least_norm`, a local maximum of the
    level for these phases.
phases
    Ascent on a smooth lower bound of the level, :math:`(\sum_k s_k^{-p})^{-1/p}`. Its gradient is
    that of :math:`\sum_k\lambda_k s_k` with the weights :math:`\lambda_k \propto s_k^{-p-1}`, which
    approach the multipliers of the level as p grows. All elements step towards the phase of
    :math:`z_m = \sum_k \lambda_k \bar r_{m,k} y_k`, with an adaptive length. On a grid of
    phases, one element after the other moves to a neighbouring phase if that raises the bound.

A step that does not raise the bound is undone, and the best level seen is kept: the level of the
set never falls.

Cost: O(MK) per step of the phases, then O(MKN) for the channels.
"""

import math

import numpy as np

from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.dual.least_norm import level_of, minimise_norm
from app.scheduling.kernels.linalg.eigen import normalise, squared_norm
from app.scheduling.kernels.linalg.gram import by_device
from app.scheduling.kernels.surface.phases import (
    Responses,
    Surface,
    allowed_phase,
    respond,
    response_space,
    slopes,
    tuned_channels,
    turn,
)
from app.scheduling.types import ComplexArray, IndexArray, MaskArray, RealArray

DOUBLINGS = 4
"""The exponent of the bound is p = 2⁴: four squarings."""

STEPS = 12
"""Steps of the phases between two receivers."""

SHORTEST = 1e-2
"""Stop when a step of this length, relative to the mean slope, does not raise the bound."""

_STEADY = 1e-3
"""Stop after an alternation that raises the level by less than this share."""

_LEVEL_TOLERANCE = 1e-2
_VISITS = 60


@compiled
def soft_level(responses: Responses, members: IndexArray, count: int, weights: RealArray) -> float:
    """Return the bound on the level of the first ``count`` members, and write their weights."""
    least = math.inf
    for i in range(count):
        k = members[i]
        weights[k] = responses.real[k] ** 2 + responses.imag[k] ** 2
        least = min(least, weights[k])
    if not least > 0.0:
        return 0.0
    total = 0.0
    for i in range(count):
        k = members[i]
        ratio = least / weights[k]
        power = ratio
        for _ in range(DOUBLINGS):
            power *= power
        total += power
        weights[k] = power * ratio
    root = total
    for _ in range(DOUBLINGS):
        root = math.sqrt(root)
    return least / root


@compiled
def ascend(
    surface: Surface,
    members: IndexArray,
    count: int,
    phases: ComplexArray,
    responses: Responses,
    length: float,
) -> float:
    """Raise the bound by steps of all elements at once; return the length of the last one."""
    elements = phases.shape[0]
    weights, other = np.zeros(responses.real.shape[0]), np.zeros(responses.real.shape[0])
    towards = np.empty(elements, np.complex128)
    before = phases.copy()
    real, imag = responses.real.copy(), responses.imag.copy()
    value = soft_level(responses, members, count, weights)
    fresh = True
    for _ in range(STEPS):
        if fresh:
            towards[:] = slopes(surface, responses, weights)
            total = 0.0
            for m in surface.order:
                total += abs(towards[m])
            if not total > 0.0:
                break
        factor = length * elements / total
        for m in surface.order:
            phases[m] = allowed_phase(before[m] + factor * towards[m], 0)
            turn(responses, m, phases[m] - before[m])
        trial = soft_level(responses, members, count, other)
        fresh = trial > value
        if fresh:
            value = trial
            weights, other = other, weights
            before[:] = phases
            real[:] = responses.real
            imag[:] = responses.imag
            length = min(2.0 * length, 10.0)
        else:
            phases[:] = before
            responses.real[:] = real
            responses.imag[:] = imag
            length *= 0.3
            if length < SHORTEST:
                break
    return max(length, 10.0 * SHORTEST)


@compiled
def ascend_on_grid(
    surface: Surface,
    members: IndexArray,
    count: int,
    phases: ComplexArray,
    responses: Responses,
) -> None:
    """Raise the bound by moving single elements to neighbouring phases of the grid."""
    weights = np.zeros(responses.real.shape[0])
    value = soft_level(responses, members, count, weights)
    angle = 2.0 * math.pi / surface.levels
    for m in surface.order:
        for direction in (angle, -angle):
            turned = phases[m] * complex(math.cos(direction), math.sin(direction))
            candidate = allowed_phase(turned, surface.levels)
            change = candidate - phases[m]
            turn(responses, m, change)
            trial = soft_level(responses, members, count, weights)
            if trial > value:
                value = trial
                phases[m] = candidate
                break
            turn(responses, m, -change)


@compiled
def weakest_channel(rows: ComplexArray) -> float:
    """Return the least squared norm of the rows."""
    least = math.inf
    for k in range(rows.shape[0]):
        least = min(least, squared_norm(rows[k]))
    return least


@compiled
def raise_level(
    surface: Surface,
    members: IndexArray,
    receiver: ComplexArray,
    phases: ComplexArray,
    target: float,
    most_alternations: int,
    stop: MaskArray,
) -> int:
    """Raise min |y_k|/‖c‖ over the members, from ``receiver`` and ``phases``.

    Parameters
    ----------
    surface
        With channels scaled by what their devices need.
    members
        Indices of devices, at least one.
    receiver, phases
        (N,) nonzero, and (M,); replaced by the best found.
    target
        Level at which to stop.

    Returns
    -------
    The number of alternations.
    """
    count = members.shape[0]
    responses = response_space(surface)
    everyone = np.arange(count)
    trial, trial_phases = receiver.copy(), phases.copy()
    best = 0.0
    length = 1.0
    alternations = 0
    normalise(trial)
    while alternations < most_alternations and not stop[0]:
        alternations += 1
        rows = by_device(tuned_channels(surface, trial_phases))[members]
        if weakest_channel(rows) <= 0.0:
            # A device with a zero channel at these phases has no phase to align.
            break
        aligned = rows.copy()
        minimise_norm(aligned, everyone, trial, _LEVEL_TOLERANCE, _VISITS * count, stop, target)
        normalise(trial)
        level = level_of(rows, trial)
        gain = level - best
        if gain > 0.0:
            best = level
            receiver[:] = trial
            phases[:] = trial_phases
        if best >= target or gain <= _STEADY * best:
            break
        respond(surface, trial, trial_phases, responses)
        if surface.levels == 0:
            length = ascend(surface, members, count, trial_phases, responses, length)
        else:
            ascend_on_grid(surface, members, count, trial_phases, responses)
    return alternations
