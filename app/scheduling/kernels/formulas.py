r"""The formulas that every schedule satisfies: computing its scalars, and checking it.

Compiled because they run for every answer, where a handful of NumPy calls would cost more than
the search itself. :func:`invert_channels` and :func:`broken_formula` share no code, so that one
checks the other.
"""

import math

import numpy as np

from app.scheduling.kernels.compile import compiled
from app.scheduling.types import ComplexArray, IndexArray, MaskArray, RealArray

ORDER, NORM, SILENCE, POWER, SUM, ERROR, TOLERANCE = range(1, 8)
"""What :func:`broken_formula` finds broken; 0 is nothing."""


@compiled
def inspect(
    channels: ComplexArray, weights: RealArray, gamma: float
) -> tuple[float, float, float, RealArray]:
    """Look at a problem's numbers once.

    Returns
    -------
    The largest absolute real or imaginary part of the channels, the least and the largest weight
    (infinity, -infinity and infinity where one is not a number), and φ_k²/γ of every device (K,).
    """
    largest = 0.0
    for n in range(channels.shape[0]):
        for k in range(channels.shape[1]):
            part = max(abs(channels[n, k].real), abs(channels[n, k].imag))
            if math.isnan(channels[n, k].real) or math.isnan(channels[n, k].imag):
                part = math.inf
            largest = max(largest, part)
    least, most = math.inf, -math.inf
    required = np.empty(weights.shape[0])
    for k in range(weights.shape[0]):
        if math.isnan(weights[k]):
            least, most = -math.inf, math.inf
        least, most = min(least, weights[k]), max(most, weights[k])
        threshold = weights[k] / math.sqrt(gamma)
        required[k] = threshold * threshold
    return largest, least, most, required


@compiled
def invert_channels(
    channels: ComplexArray,
    weights: RealArray,
    power: float,
    receiver: ComplexArray,
    mask: MaskArray,
) -> tuple[ComplexArray, IndexArray, float, ComplexArray]:
    r"""Coordinate the devices in ``mask`` by zero forcing through ``receiver``.

    Returns
    -------
    The receiver with unit norm (N,), the devices' indices (there may be none),
    :math:`\eta = P\min_k |h_k^H c|^2/\phi_k^2`, and
    :math:`\psi_k = \sqrt\eta\,\phi_k\,(h_k^H c)/|h_k^H c|^2` (K,), 0 off the set.
    """
    antennas, devices = channels.shape
    total = 0.0
    for n in range(antennas):
        total += receiver[n].real ** 2 + receiver[n].imag ** 2
    unit = receiver / math.sqrt(total)
    responses = np.zeros(devices, np.complex128)
    for n in range(antennas):
        for k in range(devices):
            responses[k] += channels[n, k].conjugate() * unit[n]
    level = math.inf
    for k in range(devices):
        if mask[k]:
            level = min(level, abs(responses[k]) / weights[k])
    level *= math.sqrt(power)
    for k in range(devices):
        if mask[k]:
            magnitude = abs(responses[k])
            # Divided twice, not by the square: that could underflow.
            responses[k] = (level * weights[k] / magnitude) * (responses[k] / magnitude)
        else:
            responses[k] = 0.0
    return unit, np.flatnonzero(mask), level * level, responses


@compiled
def broken_formula(
    channels: ComplexArray,
    weights: RealArray,
    required: RealArray,
    power: float,
    noise_variance: float,
    receiver: ComplexArray,
    active: IndexArray,
    power_factor: float,
    computation_error: float,
    scalars: ComplexArray,
    tolerance: float,
) -> int:
    """Return the first formula that a schedule with active devices breaks, or 0.

    The formulas are those of :func:`app.scheduling.schedule.verify`, in its order.
    """
    devices = channels.shape[1]
    for i in range(active.shape[0]):
        if not 0 <= active[i] < devices or (i > 0 and active[i] <= active[i - 1]):
            return ORDER
    norm = 0.0
    for n in range(receiver.shape[0]):
        norm += receiver[n].real ** 2 + receiver[n].imag ** 2
    if not abs(norm - 1.0) <= tolerance:
        return NORM
    transmitting = 0
    for k in range(devices):
        transmitting += scalars[k] != 0.0
    level = math.sqrt(power_factor)
    within_tolerance = True
    for k in active:
        transmitting -= scalars[k] != 0.0
        if not abs(scalars[k]) <= math.sqrt(power) * (1.0 + tolerance):
            return POWER
        response = 0j
        for n in range(receiver.shape[0]):
            response += receiver[n].conjugate() * channels[n, k]
        if not abs(response * scalars[k] / weights[k] - level) <= tolerance * level:
            return SUM
        gain = response.real**2 + response.imag**2
        within_tolerance &= gain >= required[k] * (1.0 - tolerance)
    if transmitting != 0:
        return SILENCE
    error = noise_variance / power_factor
    if not abs(computation_error - error) <= tolerance * error:
        return ERROR
    return 0 if within_tolerance else TOLERANCE


@compiled
def coordinate(
    channels: ComplexArray,
    weights: RealArray,
    required: RealArray,
    power: float,
    noise_variance: float,
    receiver: ComplexArray,
    mask: MaskArray,
    tolerance: float,
) -> tuple[ComplexArray, IndexArray, float, ComplexArray, int]:
    """Invert the channels, and check the outcome: both in one call, since a call costs more."""
    unit, active, power_factor, scalars = invert_channels(channels, weights, power, receiver, mask)
    broken = 0
    if active.shape[0] > 0:
        broken = broken_formula(
            channels,
            weights,
            required,
            power,
            noise_variance,
            unit,
            active,
            power_factor,
            noise_variance / power_factor,
            scalars,
            tolerance,
        )
    return unit, active, power_factor, scalars, broken
