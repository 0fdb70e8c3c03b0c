"""The air: the signals of the scheduled devices add up, and one receiver estimates their sum.

In symbol d the devices in S send ψ_k θ_{k,d}, and the server receives

    y_d = Σ_{k∈S} h_k ψ_k θ_{k,d} + ξ_d,   ξ_d ~ CN(0, σ² I_N)
    θ̂_d = cᴴ y_d / √η   →   Σ_{k∈S} φ_k θ_{k,d},   with E|θ̂_d − Σ φ_k θ_{k,d}|² = E

E is the service's ``computation_error``. The entries are real, so only the real part of θ̂_d is
kept; it carries half of the noise. Divided by Σ_{k∈S} φ_k it is the weighted mean of the θ_k.

**Updates, not models, are sent**: θ_k is the change that training made to the global model. The
noise is then relative to the size of the step and fades as training converges, whereas noise on
whole models would stay as large as the weights; and an unscheduled device changes nothing.

**Scale**: |ψ_k|² ≤ P bounds the power only if the symbols have unit power, so all devices divide by
one common factor s, the largest root mean square of the updates in S. This takes one real number
per device on the control channel (the root mean squares up, their maximum down), next to the
receiver and the power factor that the coordination already sends there. A common factor preserves
the sum; the server multiplies by it again. E is therefore in units of s².

With zero forcing E holds for any updates. With ``mmse`` it is the mean over uncorrelated ones of
zero mean and unit power; the shortfalls of the weakest devices add up if their updates are alike.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from airsched_client.models import Schedule

Real = NDArray[np.float64]
Complex = NDArray[np.complex128]

_BLOCK = 65536
"""Number of symbols received at a time."""


@dataclass(frozen=True, eq=False)
class Aggregate:
    """What the server estimates from one round's transmission.

    Parameters
    ----------
    mean
        (D,) real, the estimate of Σ_{k∈S} φ_k θ_k / Σ_{k∈S} φ_k.
    measured_error
        Mean of |θ̂ − Σ φ_k θ_k|² over the D symbols, in units of s²: an estimate of the
        ``computation_error`` that the service reports.
    scale
        s, the common factor.
    """

    mean: Real
    measured_error: float
    scale: float


def transmit(
    channels: Complex,
    schedule: Schedule,
    symbols: Real,
    noise_variance: float,
    rng: np.random.Generator,
) -> Complex:
    """Return θ̂, (D,) complex, for symbols of unit power.

    Parameters
    ----------
    channels
        (N, K) complex, the true channels.
    schedule
        Receiver, power factor and transmit scalars; at least one device must be active.
    symbols
        (|S|, D) real, row i belongs to the device ``schedule.active[i]``.
    noise_variance
        σ².
    """
    if schedule.receiver is None or schedule.power_factor is None:
        raise ValueError("nobody is active in this schedule: there is nothing to receive")
    active, receiver = schedule.active, schedule.receiver
    size = symbols.shape[1]
    estimate = np.empty(size, np.complex128)
    sent_through = channels[:, active] * schedule.transmit_scalars[active]
    deviation = np.sqrt(noise_variance / 2)
    # In blocks: the antennas together receive far more numbers than the model has parameters.
    for first in range(0, size, _BLOCK):
        block = slice(first, min(first + _BLOCK, size))
        noise = deviation * rng.standard_normal((2, channels.shape[0], block.stop - first))
        received = sent_through @ symbols[:, block] + noise[0] + 1j * noise[1]
        estimate[block] = receiver.conj() @ received
    return np.asarray(estimate / np.sqrt(schedule.power_factor))


def aggregate(
    channels: Complex,
    schedule: Schedule,
    weights: Real,
    updates: Real,
    noise_variance: float,
    rng: np.random.Generator,
) -> Aggregate:
    """Send the updates of the active devices over the air and estimate their weighted mean.

    Parameters
    ----------
    weights
        (K,) φ.
    updates
        (|S|, D) real, row i belongs to the device ``schedule.active[i]``.
    """
    scale = common_scale(updates)
    symbols = updates / scale
    estimate = transmit(channels, schedule, symbols, noise_variance, rng)
    wanted = weights[schedule.active] @ symbols
    return Aggregate(
        mean=scale * estimate.real / weights[schedule.active].sum(),
        measured_error=float(np.mean(np.abs(estimate - wanted) ** 2)),
        scale=scale,
    )


def common_scale(updates: Real) -> float:
    """Return s, the largest root mean square of the rows; 1 if all are zero."""
    scale = float(np.sqrt(np.mean(updates**2, axis=1).max()))
    return scale if scale > 0 else 1.0
