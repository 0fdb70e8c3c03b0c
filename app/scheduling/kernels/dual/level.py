r"""The least error of a fixed set: the unit receiver of the highest level.

The level is :math:`\min_{k\in S}|h_k^H c|/\phi_k`. A device that must keep a response of its own,
its *floor*, needs the larger of the two: see :mod:`app.scheduling.polishing`.
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
def raise_level(
    channels: ComplexArray,
    weights: RealArray,
    floors: RealArray,
    receiver: ComplexArray,
    tolerance: float,
    limit: int,
    stop: MaskArray,
) -> tuple[ComplexArray, int]:
    """Return a receiver of unit norm whose level is no lower, and the number of visits.

    Parameters
    ----------
    channels
        (N, K) of the devices in the set alone.
    weights, floors
        (K,) φ, and the response that each device keeps if it has it.
    receiver
        (N,), with a nonzero response of every device.
    tolerance
        Stop this close to a local maximum of the level, relatively.
    limit
        Limit on visits to a device.
    """
    everyone = np.arange(weights.shape[0])
    unit, responses = unit_responses(channels, receiver)
    magnitudes = np.abs(responses)
    kept = np.minimum(floors, magnitudes)
    visits = 0
    for _ in range(MAX_LEVELS):
        level = (magnitudes / weights).min()
        if not level > 0.0 or visits >= limit or stop[0]:
            break
        rows = scaled_rows(channels, np.maximum(level * weights, kept))
        candidate = unit.copy()
        visits += minimise_norm(
            rows, everyone, candidate, tolerance, limit - visits, stop, math.inf
        )
        candidate, responses = unit_responses(channels, candidate)
        magnitudes = np.abs(responses)
        raised = (magnitudes / weights).min()
        if not raised > level or (magnitudes < kept).any():
            break
        unit = candidate
        # If no floor binds, one pass is enough.
        if raised <= level * (1.0 + tolerance) or (kept <= level * weights).all():
            break
    return unit, visits
