r"""The least error of a fixed set on every subcarrier of a band.

On subcarrier f it is least where the level :math:`\min_{k\in S}|h_{k,f}^H c_f|/\phi_k` of a unit
receiver is largest. A device that must keep a response of its own, its *floor*, needs the larger of
the two: see :mod:`app.scheduling.polishing`.
"""

import math

import numpy as np

from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.dual.least_norm import minimise_norm
from app.scheduling.kernels.dual.sweeps import scaled_rows
from app.scheduling.kernels.formulas import unit_responses
from app.scheduling.types import ComplexArray, MaskArray, RealArray

MAX_LEVELS = 20
"""Limit on levels, one after the other, while a floor binds."""


@compiled
def raise_levels(
    channels: ComplexArray,
    weights: RealArray,
    floors: RealArray,
    receivers: ComplexArray,
    tolerance: float,
    limit: int,
    stop: MaskArray,
) -> int:
    """Replace each receiver by one of unit norm whose level is no lower; return the visits.

    Parameters
    ----------
    channels
        (F, N, K) of the devices in the set alone.
    weights, floors
        (K,) φ, and the response that each device keeps if it has it.
    receivers
        (F, N), with a nonzero response of every device.
    tolerance
        Stop this close to a local maximum of the level, relatively.
    limit
        Limit on visits to a device on each subcarrier.
    """
    everyone = np.arange(weights.shape[0])
    visits = 0
    for f in range(channels.shape[0]):
        receiver, responses = unit_responses(channels[f], receivers[f])
        magnitudes = np.abs(responses)
        kept = np.minimum(floors, magnitudes)
        spent = 0
        for _ in range(MAX_LEVELS):
            level = (magnitudes / weights).min()
            if not level > 0.0 or spent >= limit or stop[0]:
                break
            rows = scaled_rows(channels[f], np.maximum(level * weights, kept))
            candidate = receiver.copy()
            spent += minimise_norm(
                rows, everyone, candidate, tolerance, limit - spent, stop, math.inf
            )
            candidate, responses = unit_responses(channels[f], candidate)
            magnitudes = np.abs(responses)
            raised = (magnitudes / weights).min()
            if not raised > level or (magnitudes < kept).any():
                break
            receiver = candidate
            if raised <= level * (1.0 + tolerance) or (kept <= level * weights).all():
                break
        receivers[f] = receiver
        visits += spent
    return visits
