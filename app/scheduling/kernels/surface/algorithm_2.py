r"""The loop of Algorithm 2 of Bereyhi et al.: matching pursuit that also tunes the channel.

Like :func:`.matching.algorithm_1.backward_pursuit`, but instead of only taking
the principal receiver of the weighted channels, it alternates between the receiver and the phases.
"""

import numpy as np

from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.linalg.eigen import principal_eigenvector, work_space
from app.scheduling.kernels.linalg.gram import aligned_sum, by_device, gains, reweigh
from app.scheduling.kernels.matching.algorithm_1 import is_served, most_violated, subset_cutting
from app.scheduling.kernels.surface.phases import (
    Surface,
    response_space,
    tuned_channels,
    update_phases,
)
from app.scheduling.types import ComplexArray, MaskArray, RealArray

CONVERGED = 1e-3
"""Stop after an alternation that raises Σ_k w_k|h_k(μ)ᴴc|² by less than this share."""

MAX_ALTERNATIONS = 100
"""Limit on alternations."""


@compiled
def joint_pursuit(
    surface: Surface,
    required: RealArray,
    values: RealArray,
    delta: float,
    policy: int,
    phases: ComplexArray,
    stop: MaskArray,
) -> tuple[ComplexArray, MaskArray, int, int]:
    """Drop the most violated device until one receiver serves all that remain.

    Parameters
    ----------
    required
        (K,) gain that each device needs.
    values
        (K,) positive factors of the weights, one for each device.
    delta
        Subset-cutting parameter δ in (0, 1).
    policy
        Policy for the phases, as :func:`.surface.phases.update_phases` takes
        it.
    phases
        (M,) the start; replaced by the result.
    stop
        (1,), checked in every iteration: when it becomes true, the receiver and the phases that
        serve the most value so far are the result; with nobody if there are none yet.

    Returns
    -------
    receiver (N,), scheduled devices (K,), number of iterations, total number of alternations.
    """
    antennas, devices = surface.direct_real.shape
    responses = response_space(surface)
    rows = by_device(tuned_channels(surface, phases))
    gram = np.zeros((antennas, antennas), np.complex128)
    work = work_space(antennas)
    weights = np.zeros(devices)
    new_weights = values.copy()
    gain = np.empty(devices)
    remaining = np.ones(devices, np.bool_)
    receiver = aligned_sum(rows)
    peak = 0.0
    served = np.zeros(devices, np.bool_)
    best, best_phases, most = receiver.copy(), phases.copy(), 0.0
    count = devices
    iterations = alternations = 0
    while count > 0 and not stop[0]:
        iterations += 1
        previous = 0.0
        for _ in range(MAX_ALTERNATIONS):
            alternations += 1
            peak = reweigh(gram, rows, weights, new_weights, peak)
            principal_eigenvector(gram, receiver, work)
            value, moved = update_phases(policy, surface, new_weights, receiver, phases, responses)
            if not moved:
                break
            rows = by_device(tuned_channels(surface, phases))
            # The channels have changed: rebuild the matrix.
            gram[:] = 0.0
            weights[:] = 0.0
            peak = 0.0
            if value - previous <= CONVERGED * value or stop[0]:
                break
            previous = value
        gains(rows, receiver, gain)
        worst = most_violated(gain, required, remaining)
        if worst < 0:
            return receiver, remaining, iterations, alternations
        remaining[worst] = False
        count -= 1
        worth = 0.0
        for k in range(devices):
            violated = not is_served(gain[k], required[k])
            if not violated:
                worth += values[k]
            new_weights[k] = 0.0
            if remaining[k]:
                new_weights[k] = values[k] * subset_cutting(violated, delta)
        if worth > most:
            most = worth
            best[:], best_phases[:] = receiver, phases
            for k in range(devices):
                served[k] = is_served(gain[k], required[k])
    if stop[0] and most > 0.0:
        phases[:] = best_phases
        return best, served, iterations, alternations
    remaining[:] = False
    return receiver, remaining, iterations, alternations
