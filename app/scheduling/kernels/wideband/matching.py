r"""Matching pursuit over a band: Algorithm 1 with one weight per device on all subcarriers.

On every subcarrier the receiver is the principal eigenvector of
:math:`\sum_k w_k h_{k,f} h_{k,f}^H`. The violation of a device is, with
:math:`F_{k,f} = q_k - |h_{k,f}^H c_f|^2`, the largest :math:`F_{k,f}` (criterion *each*) or the
mean of their positive parts (criterion *mean*).
"""

import math

import numpy as np

from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.formulas import SERVED_TOLERANCE
from app.scheduling.kernels.linalg.eigen import principal_eigenvector, work_space
from app.scheduling.kernels.linalg.gram import aligned_sum, by_device, gains, reweigh
from app.scheduling.kernels.matching.algorithm_1 import EQUAL_VIOLATIONS, subset_cutting
from app.scheduling.types import ComplexArray, MaskArray, RealArray


@compiled
def violations(gain: RealArray, required: RealArray, each: bool, into: RealArray) -> None:
    """Write the violation of every device; zero or negative if it is served everywhere.

    Parameters
    ----------
    gain
        (F, K) |h_{k,f}ᴴc_f|².
    required
        (K,) gain that each device needs.
    """
    subcarriers, devices = gain.shape
    for k in range(devices):
        into[k] = -math.inf if each else 0.0
        for f in range(subcarriers):
            missing = required[k] * (1.0 - SERVED_TOLERANCE) - gain[f, k]
            if each:
                into[k] = max(into[k], missing)
            else:
                into[k] += max(0.0, missing) / subcarriers


@compiled
def is_kept(gain: RealArray, required: RealArray, remaining: MaskArray, each: bool) -> bool:
    """Whether the costs of the remaining devices keep the tolerance."""
    subcarriers, devices = gain.shape
    total = worst = 0.0
    for f in range(subcarriers):
        cost = 0.0
        for k in range(devices):
            if remaining[k]:
                cost = max(cost, required[k] / gain[f, k] if gain[f, k] > 0.0 else math.inf)
        total += cost
        worst = max(worst, cost)
    return (worst if each else total / subcarriers) * (1.0 - SERVED_TOLERANCE) <= 1.0


@compiled
def wideband_matching(
    channels: ComplexArray,
    required: RealArray,
    values: RealArray,
    delta: float,
    each: bool,
    stop: MaskArray,
) -> tuple[ComplexArray, MaskArray, int]:
    """Drop the most violated device until the receivers serve all that remain.

    Parameters
    ----------
    channels
        (F, N, K).
    required
        (K,) gain that each device needs.
    values
        (K,) positive factors of the weights, one for each device.
    delta
        Subset-cutting parameter δ in (0, 1).
    each
        Whether every subcarrier must keep the tolerance, rather than their mean.
    stop
        (1,), checked in every iteration: when it becomes true, the loop ends with an empty set.

    Returns
    -------
    receivers (F, N), scheduled devices (K,), number of iterations.
    """
    subcarriers, antennas, devices = channels.shape
    rows = np.empty((subcarriers, devices, antennas), np.complex128)
    receivers = np.empty((subcarriers, antennas), np.complex128)
    for f in range(subcarriers):
        rows[f] = by_device(channels[f])
        receivers[f] = aligned_sum(rows[f])
    grams = np.zeros((subcarriers, antennas, antennas), np.complex128)
    old, peaks = np.zeros((subcarriers, devices)), np.zeros(subcarriers)
    weights, violation = values.copy(), np.empty(devices)
    gain = np.empty((subcarriers, devices))
    remaining = np.ones(devices, np.bool_)
    work = work_space(antennas)
    iterations = 0
    for _ in range(devices):
        if stop[0]:
            break
        iterations += 1
        for f in range(subcarriers):
            peaks[f] = reweigh(grams[f], rows[f], old[f], weights, peaks[f])
            principal_eigenvector(grams[f], receivers[f], work)
            gains(rows[f], receivers[f], gain[f])
        if is_kept(gain, required, remaining, each):
            return receivers, remaining, iterations
        violations(gain, required, each, violation)
        worst = -1
        for k in range(devices):
            if remaining[k] and (
                worst < 0 or violation[k] > violation[worst] + EQUAL_VIOLATIONS * required[k]
            ):
                worst = k
        remaining[worst] = False
        for k in range(devices):
            weights[k] = 0.0
            if remaining[k]:
                weights[k] = values[k] * subset_cutting(violation[k] > 0.0, delta)
    remaining[:] = False
    return receivers, remaining, iterations
