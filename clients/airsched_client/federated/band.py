"""Frequency-selective channels: a tapped delay line, and the subcarriers of its band.

A signal arrives over L paths, one sample apart. Tap l has the share p_l of the power, which falls
by 1/e every L/3 taps, and subcarrier f of F has the channel

    h_f = Σ_l t_l exp(−j2π f l / F),   E‖t_l‖² = p_l E‖h_f‖²,   Σ_l p_l = 1

(with max(F, L) in place of F in the exponent's denominator, and subcarriers evenly spread, if there
are more taps than subcarriers). One tap makes the band flat; about F/L neighbouring subcarriers are
alike.
"""

import numpy as np
from numpy.typing import NDArray

Complex = NDArray[np.complex128]
Real = NDArray[np.float64]

DECAY_SHARE = 3
"""The power of the taps falls by 1/e over this part of their number."""


def tap_powers(taps: int) -> Real:
    """Return p_l, (L,), whose sum is one."""
    powers = np.exp(-np.arange(taps) * DECAY_SHARE / taps)
    return np.asarray(powers / powers.sum())


def subcarrier_channels(taps: Complex, subcarriers: int) -> Complex:
    """Return the channels (F, …) of evenly spread subcarriers, for taps (L, …)."""
    grid = max(subcarriers, len(taps))
    bins = np.arange(subcarriers) * grid / subcarriers
    turns = np.exp(-2j * np.pi * np.outer(bins, np.arange(len(taps))) / grid)
    return np.asarray(np.tensordot(turns, taps, 1))
