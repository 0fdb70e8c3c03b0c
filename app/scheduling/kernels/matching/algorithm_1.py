r"""The loops of matching pursuit (Algorithm 1 of Bereyhi et al.) and its other two searches.

With the required gain :math:`q_k = \phi_k^2/\gamma` the paper's constraint indicator is
:math:`F_k = \gamma(q_k - |h_k^H c|^2)`. The common factor γ changes neither its sign nor which
device has the largest, so the loops work with :math:`q_k - |h_k^H c|^2`, the *violation*.
"""

import numpy as np

from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.formulas import SERVED_TOLERANCE
from app.scheduling.kernels.linalg.eigen import principal_eigenvector, work_space
from app.scheduling.kernels.linalg.gram import (
    aligned_sum,
    by_device,
    reweigh,
    reweigh_nearer,
)
from app.scheduling.kernels.linalg.refine import principal_near
from app.scheduling.types import ComplexArray, MaskArray, RealArray

EQUAL_VIOLATIONS = SERVED_TOLERANCE
"""Violations closer than this share of the required gain are equal: the lowest index wins."""


@compiled
def subset_cutting(violated: bool, delta: float) -> float:
    """Weight Π of a remaining device: δ if it is violated and 1-δ if it is served.

    Both are divided by 1-δ. That does not change the principal eigenvector, and keeps the weight of
    a served device at its initial 1, so only violated devices need an update.
    """
    return delta / (1.0 - delta) if violated else 1.0


@compiled
def is_served(gain: float, required: float) -> bool:
    """Whether a device's gain meets the required one."""
    return gain >= required * (1.0 - SERVED_TOLERANCE)


@compiled
def most_violated(gain: RealArray, required: RealArray, remaining: MaskArray) -> int:
    """Return the remaining device with the largest violation, or -1 if all are served."""
    worst = -1
    largest = 0.0
    for k in range(gain.shape[0]):
        if remaining[k] and not is_served(gain[k], required[k]):
            violation = required[k] - gain[k]
            if worst < 0 or violation > largest + EQUAL_VIOLATIONS * required[k]:
                worst = k
                largest = violation
    return worst


@compiled
def least_violated(gain: RealArray, required: RealArray, taken: MaskArray) -> int:
    """Return the device outside ``taken`` with the smallest violation, or -1 if none is left."""
    best = -1
    smallest = 0.0
    for k in range(gain.shape[0]):
        if not taken[k]:
            violation = required[k] - gain[k]
            if best < 0 or violation < smallest - EQUAL_VIOLATIONS * required[k]:
                best = k
                smallest = violation
    return best


@compiled
def gains_by_antenna(
    channels: ComplexArray, receiver: ComplexArray, responses: ComplexArray, into: RealArray
) -> None:
    """Write h_kᴴc of every device into ``responses``, and |h_kᴴc|² into ``into``.

    Antenna by antenna, so that the loop over devices vectorises.
    """
    antennas, devices = channels.shape
    responses[:] = 0.0
    for n in range(antennas):
        entry = receiver[n]
        for k in range(devices):
            responses[k] += channels[n, k].conjugate() * entry
    for k in range(devices):
        into[k] = responses[k].real * responses[k].real + responses[k].imag * responses[k].imag


@compiled
def principal_receiver(channels: ComplexArray) -> ComplexArray:
    """Return the principal left singular vector (N,) of the (N, K) channels."""
    antennas, devices = channels.shape
    rows = by_device(channels)
    gram = np.zeros((antennas, antennas), np.complex128)
    work = work_space(antennas)
    receiver = aligned_sum(rows)
    reweigh(gram, rows, np.zeros(devices), np.ones(devices), 0.0)
    principal_eigenvector(gram, receiver, work)
    return receiver


@compiled
def backward_pursuit(
    channels: ComplexArray,
    required: RealArray,
    values: RealArray,
    delta: float,
    bidirectional: bool,
    stop: MaskArray,
) -> tuple[ComplexArray, MaskArray, int]:
    """Drop the most violated device until one receiver serves all that remain.

    Parameters
    ----------
    channels
        (N, K).
    required
        (K,) gain that each device needs.
    values
        (K,) positive factors of the weights, one for each device.
    delta
        Subset-cutting parameter δ in (0, 1).
    bidirectional
        Whether dropped devices that become served come back, each of them once, and every device
        that the last receiver serves is scheduled.
    stop
        (1,), checked in every iteration: when it becomes true, the receiver that serves the most
        value so far is returned with all that it serves; with nobody if there is none yet.

    Returns
    -------
    receiver (N,), scheduled devices (K,), number of iterations.
    """
    antennas, devices = channels.shape
    rows = by_device(channels)
    work = work_space(antennas)
    grams, peaks, last = np.zeros((2, antennas, antennas), np.complex128), np.zeros(2), 0
    weights, new_weights = np.zeros((2, devices)), values.copy()
    gain = np.empty(devices)
    responses = np.empty(devices, np.complex128)
    remaining = np.ones(devices, np.bool_)
    returned = np.zeros(devices, np.bool_)
    receiver = aligned_sum(rows)
    # Weights tend to swing between two sets: the receiver before the last is a good guess.
    before = receiver.copy()
    best, most = receiver.copy(), 0.0
    count = devices
    iterations = 0
    while count > 0 and not stop[0]:
        iterations += 1
        # The singular vector of H√W is the eigenvector of its Gram matrix HWHᴴ.
        last = reweigh_nearer(grams, rows, weights, new_weights, peaks, last)
        principal_near(grams[last], receiver, before, work)
        # The constraint indicators F_k, as gains; the next device is the one with the largest.
        gains_by_antenna(channels, receiver, responses, gain)
        worst = most_violated(gain, required, remaining)
        if worst < 0:
            # Δ ≤ 0: no constraint is violated.
            if bidirectional:
                for k in range(devices):
                    remaining[k] = is_served(gain[k], required[k])
            return receiver, remaining, iterations
        remaining[worst] = False
        count -= 1
        worth = 0.0
        for k in range(devices):
            served = is_served(gain[k], required[k])
            worth += values[k] * served
            if bidirectional and served and not remaining[k] and not returned[k]:
                remaining[k] = True
                returned[k] = True
                count += 1
            new_weights[k] = 0.0
            if remaining[k]:
                new_weights[k] = values[k] * subset_cutting(not served, delta)
        if worth > most:
            most = worth
            best[:] = receiver
    remaining[:] = False
    if stop[0] and most > 0.0:
        gains_by_antenna(channels, best, responses, gain)
        for k in range(devices):
            remaining[k] = is_served(gain[k], required[k])
    return best, remaining, iterations


@compiled
def forward_pursuit(
    channels: ComplexArray,
    required: RealArray,
    values: RealArray,
    delta: float,
    stop: MaskArray,
) -> tuple[ComplexArray, MaskArray, int]:
    """Add the least violated device as long as one receiver serves all.

    Parameters and result are those of :func:`backward_pursuit`, but when ``stop`` becomes true, the
    last set that a receiver serves is returned.
    """
    antennas, devices = channels.shape
    rows = by_device(channels)
    gram = np.zeros((antennas, antennas), np.complex128)
    work = work_space(antennas)
    weights = np.zeros(devices)
    new_weights = np.zeros(devices)
    gain = np.empty(devices)
    responses = np.empty(devices, np.complex128)
    taken = np.zeros(devices, np.bool_)
    served = np.zeros(devices, np.bool_)
    best = aligned_sum(rows)
    receiver = best.copy()
    # No device is taken yet: judge each by its own matched filter, with gain ‖h_k‖².
    for k in range(devices):
        gain[k] = np.sum(rows[k].real ** 2 + rows[k].imag ** 2)
    peak = 0.0
    iterations = 0
    while iterations < devices and not stop[0]:
        candidate = least_violated(gain, required, taken)
        if candidate < 0:
            break
        for k in range(devices):
            if taken[k]:
                new_weights[k] = values[k] * subset_cutting(False, delta)
        new_weights[candidate] = values[candidate] * subset_cutting(
            not is_served(gain[candidate], required[candidate]), delta
        )
        taken[candidate] = True
        iterations += 1
        peak = reweigh(gram, rows, weights, new_weights, peak)
        principal_eigenvector(gram, receiver, work)
        gains_by_antenna(channels, receiver, responses, gain)
        if most_violated(gain, required, taken) >= 0:
            break
        best[:] = receiver
        for k in range(devices):
            served[k] = is_served(gain[k], required[k])
            taken[k] = served[k]
    return best, served, iterations
