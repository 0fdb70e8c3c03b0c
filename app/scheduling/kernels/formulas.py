r"""The formulas that every schedule satisfies: computing its scalars, and checking it.

Compiled because they run for every schedule, and a handful of NumPy calls would cost more than the
search itself. :func:`broken_formula` shares no code with what it checks.
"""

import math

import numpy as np

from app.scheduling.kernels.compile import compiled
from app.scheduling.types import ComplexArray, IndexArray, MaskArray, RealArray

SERVED_TOLERANCE = 1e-9
"""A device that misses its constraint by less than this share counts as served: rounding.

What is asked of a schedule. A search asks for a little more, :data:`ENOUGH_GAIN`.
"""

ENOUGH_GAIN = 1.0 - SERVED_TOLERANCE / 2
"""Share of the required gain at which a search counts a device as served.

Half of what the final check allows, so that rounding between the two loses no device.
"""

ENOUGH_MAGNITUDE = 1.0 - SERVED_TOLERANCE / 4
"""The same for the magnitude of the response, whose square is the gain."""

RESOLUTION = 4 * 2.0**-53 / SERVED_TOLERANCE
"""Times (N + 4): smallest response, relative to the channel norm, that is not just rounding.

The response errs by a few N times 2⁻⁵³ of that norm. A weaker one is not known to the accuracy of
:data:`SERVED_TOLERANCE`; it may be nothing but rounding.
"""

ORDER, NORM, SILENCE, POWER, SUM, ERROR, TOLERANCE = range(1, 8)
"""What :func:`broken_formula` returns; 0 if nothing is broken."""


@compiled
def inspect(
    channels: ComplexArray, weights: RealArray, gamma: float
) -> tuple[float, float, float, RealArray, RealArray]:
    """Check a problem's numbers in one pass.

    Returns
    -------
    The largest absolute real or imaginary part of the channels, the least and the largest weight
    (infinity, -infinity and infinity where one is not a number), the gain that each device
    needs (K,), and the least gain of each that is not rounding (K,).
    """
    largest = 0.0
    resolved = np.zeros(channels.shape[1])
    share = RESOLUTION * (channels.shape[0] + 4)
    for n in range(channels.shape[0]):
        for k in range(channels.shape[1]):
            part = max(abs(channels[n, k].real), abs(channels[n, k].imag))
            if math.isnan(channels[n, k].real) or math.isnan(channels[n, k].imag):
                part = math.inf
            largest = max(largest, part)
            resolved[k] += (share * channels[n, k].real) ** 2 + (share * channels[n, k].imag) ** 2
    least, most = math.inf, -math.inf
    required = np.empty(weights.shape[0])
    for k in range(weights.shape[0]):
        if math.isnan(weights[k]):
            least, most = -math.inf, math.inf
        least, most = min(least, weights[k]), max(most, weights[k])
        threshold = weights[k] / math.sqrt(gamma)
        required[k] = max(threshold * threshold, resolved[k])
    return largest, least, most, required, resolved


@compiled
def unit_responses(
    channels: ComplexArray, receiver: ComplexArray
) -> tuple[ComplexArray, ComplexArray]:
    """Return the receiver c with unit norm (N,) and h_kᴴc of every device (K,)."""
    antennas, devices = channels.shape
    total = 0.0
    for n in range(antennas):
        total += receiver[n].real ** 2 + receiver[n].imag ** 2
    unit = receiver / math.sqrt(total)
    responses = np.zeros(devices, np.complex128)
    for n in range(antennas):
        for k in range(devices):
            responses[k] += channels[n, k].conjugate() * unit[n]
    return unit, responses


@compiled
def invert_channels(
    weights: RealArray, power: float, responses: ComplexArray, active: IndexArray
) -> tuple[float, ComplexArray]:
    r"""Coordinate the active devices by zero forcing.

    Returns
    -------
    :math:`\sqrt\eta = \sqrt P \min_k |h_k^H c|/\phi_k`, and
    :math:`\psi_k = \sqrt\eta\,\phi_k\,(h_k^H c)/|h_k^H c|^2` (K,), 0 off the set.
    """
    level = math.inf
    for k in active:
        level = min(level, abs(responses[k]) / weights[k])
    level *= math.sqrt(power)
    scalars = np.zeros(responses.shape[0], np.complex128)
    for k in active:
        magnitude = abs(responses[k])
        # Divided twice, because the square could underflow.
        scalars[k] = (level * weights[k] / magnitude) * (responses[k] / magnitude)
    return level, scalars


@compiled
def minimise_error(
    weights: RealArray,
    errors: RealArray,
    power: float,
    noise_variance: float,
    responses: ComplexArray,
    active: IndexArray,
) -> tuple[float, ComplexArray]:
    r"""Coordinate the active devices for the least mean squared error in the worst case.

    With :math:`x = 1/\sqrt\eta` device k inverts its channel where
    :math:`x \ge x_k = \phi_k/(\sqrt P|h_k^H c|)`, and sends at full power where it cannot. Without
    errors of the estimates, the error is
    :math:`\sum_{k: x_k > x}(\sqrt P|h_k^H c|x - \phi_k)^2 + \sigma^2 x^2`, convex in x; for the m
    weakest devices at full power its minimum is at
    :math:`\sqrt P\sum|h_k^H c|\phi_k/(P\sum|h_k^H c|^2 + \sigma^2)`, and m is right when that
    lies above the next device's :math:`x_k`.

    An error of up to :math:`e_k` takes as much from :math:`|h_k^H c|` in these sums, and leaves
    :math:`\phi_k e_k/|h_k^H c|` of a device that inverts its channel. The slope then jumps at
    :math:`x_k`, so the minimum may also lie there.

    Returns
    -------
    :math:`\sqrt\eta`, and ψ (K,), 0 off the set.
    """
    root = math.sqrt(power)
    limits = np.empty(active.shape[0])
    for i in range(active.shape[0]):
        limits[i] = weights[active[i]] / (root * abs(responses[active[i]]))
    weakest_first = np.argsort(-limits)
    amplitude = energy = inverse = 0.0
    for i in range(active.shape[0]):
        k = active[weakest_first[i]]
        reach = max(0.0, abs(responses[k]) - errors[k])
        amplitude += reach * weights[k]
        energy += reach**2
        inverse = root * amplitude / (power * energy + noise_variance)
        if errors[k] > 0.0 and inverse >= limits[weakest_first[i]]:
            inverse = limits[weakest_first[i]]
            break
        if i + 1 < active.shape[0] and inverse >= limits[weakest_first[i + 1]]:
            break
    scalars = np.zeros(responses.shape[0], np.complex128)
    for k in active:
        magnitude = abs(responses[k])
        scalars[k] = min(root, weights[k] / (magnitude * inverse)) * (responses[k] / magnitude)
    return 1.0 / inverse, scalars


@compiled
def transmission_errors(
    weights: RealArray,
    errors: RealArray,
    power: float,
    noise_variance: float,
    responses: ComplexArray,
    active: IndexArray,
    level: float,
) -> tuple[float, float]:
    r"""Return the worst and the nominal mean squared error.

    Of devices that invert their channels, or send at full power where they cannot. With
    :math:`s_k = |\psi_k|/\sqrt\eta` an estimate that is wrong by up to :math:`e_k` makes it
    :math:`\sum_{k\in S}(|s_k|h_k^H c| - \phi_k| + s_k e_k)^2 + \sigma^2/\eta` at most.
    """
    root, inverse = math.sqrt(power), 1.0 / level
    worst = nominal = noise_variance * inverse * inverse
    for k in active:
        magnitude = abs(responses[k])
        sent = min(root, weights[k] / (magnitude * inverse))
        missing = weights[k] - root * magnitude * inverse if sent == root else 0.0
        worst += (abs(missing) + sent * inverse * errors[k]) ** 2
        nominal += missing**2
    return worst, nominal


@compiled
def broken_formula(
    channels: ComplexArray,
    weights: RealArray,
    required: RealArray,
    errors: RealArray,
    power: float,
    noise_variance: float,
    max_error: float,
    receiver: ComplexArray,
    active: IndexArray,
    power_factor: float,
    computation_error: float,
    nominal_error: float,
    scalars: ComplexArray,
    zero_forcing: bool,
) -> int:
    """Return the first formula that a schedule with active devices breaks, or 0.

    The formulas are those of :func:`app.scheduling.verification.verify`, in its order.
    """
    devices = channels.shape[1]
    for i in range(active.shape[0]):
        if not 0 <= active[i] < devices or (i > 0 and active[i] <= active[i - 1]):
            return ORDER
    norm = 0.0
    for n in range(receiver.shape[0]):
        norm += receiver[n].real ** 2 + receiver[n].imag ** 2
    if not abs(norm - 1.0) <= SERVED_TOLERANCE:
        return NORM
    transmitting = 0
    for k in range(devices):
        transmitting += scalars[k] != 0.0
    level = math.sqrt(power_factor)
    within_tolerance = True
    nominal = worst = noise_variance / power_factor
    rounding = 0.0
    for k in active:
        transmitting -= scalars[k] != 0.0
        if not abs(scalars[k]) <= math.sqrt(power) * (1.0 + SERVED_TOLERANCE):
            return POWER
        response = 0j
        for n in range(receiver.shape[0]):
            response += receiver[n].conjugate() * channels[n, k]
        mismatch = abs(response * scalars[k] / (weights[k] * level) - 1.0)
        if zero_forcing and not mismatch <= SERVED_TOLERANCE:
            return SUM
        nominal += (mismatch * weights[k]) ** 2
        worst += (mismatch * weights[k] + abs(scalars[k]) * errors[k] / level) ** 2
        rounding += (SERVED_TOLERANCE * weights[k]) ** 2
        gain = response.real**2 + response.imag**2
        within_tolerance &= gain >= required[k] * (1.0 - SERVED_TOLERANCE)
    if transmitting != 0:
        return SILENCE
    # A mismatch of rounding adds its product with the error of the estimate.
    rounding += 2.0 * math.sqrt(rounding * worst)
    if not abs(computation_error - worst) <= SERVED_TOLERANCE * worst + rounding:
        return ERROR
    if not abs(nominal_error - nominal) <= SERVED_TOLERANCE * nominal + rounding:
        return ERROR
    if errors.any():
        within_tolerance = worst <= max_error * (1.0 + SERVED_TOLERANCE)
    return 0 if within_tolerance else TOLERANCE


@compiled
def coordinate(
    channels: ComplexArray,
    weights: RealArray,
    required: RealArray,
    errors: RealArray,
    power: float,
    noise_variance: float,
    max_error: float,
    receiver: ComplexArray,
    mask: MaskArray,
    zero_forcing: bool,
) -> tuple[ComplexArray, IndexArray, float, float, float, ComplexArray, int]:
    """Set the scalars of the devices in ``mask``, and check the result.

    One call for both, because a call from Python costs more than either.

    Returns
    -------
    The receiver with unit norm (N,), the active devices' indices, η, E in the worst case and as
    estimated, ψ (K,), and what :func:`broken_formula` finds.
    """
    active = np.flatnonzero(mask)
    if active.shape[0] == 0:
        silent = np.zeros(weights.shape[0], np.complex128)
        return receiver.copy(), active, 0.0, 0.0, 0.0, silent, 0
    unit, responses = unit_responses(channels, receiver)
    level, scalars = invert_channels(weights, power, responses, active)
    nominal = noise_variance / (level * level)
    worst = nominal
    for k in active:
        worst += (weights[k] * errors[k] / abs(responses[k])) ** 2
    if not zero_forcing:
        other_level, other_scalars = minimise_error(
            weights, errors, power, noise_variance, responses, active
        )
        other_worst, other_nominal = transmission_errors(
            weights, errors, power, noise_variance, responses, active, other_level
        )
        # Where an error exceeds a response, the least error is not always found.
        if math.isfinite(other_level) and not (errors.any() and other_worst > worst):
            level, scalars, worst, nominal = (
                other_level,
                other_scalars,
                other_worst,
                other_nominal,
            )
    broken = broken_formula(
        channels,
        weights,
        required,
        errors,
        power,
        noise_variance,
        max_error,
        unit,
        active,
        level * level,
        worst,
        nominal,
        scalars,
        zero_forcing,
    )
    return unit, active, level * level, worst, nominal, scalars, broken
