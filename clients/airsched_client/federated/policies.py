"""Policies of your own: a schedule from a set of devices and a receiver."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from airsched_client.models import Schedule


def zero_forcing(
    channels: NDArray[np.complex128],
    receiver: NDArray[np.complex128],
    active: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    power: ArrayLike = 1.0,
    noise_variance: float = 1.0,
    noise_covariance: ArrayLike | None = None,
    name: str = "custom",
) -> Schedule:
    """Return the schedule of a set of devices and a receiver, with every device at its weight.

    With c of unit norm, η = min_{k∈S} P_k|cᴴh_k|²/φ_k², ψ_k = √η φ_k/cᴴh_k and E = cᴴRc/η, which is
    σ²/η with white noise.

    Parameters
    ----------
    channels
        (N, K) complex, as the server knows them.
    receiver
        (N,) complex, any norm but zero.
    active
        Indices of the scheduled devices, at least one.
    weights
        (K,) φ; all 1 if None.
    power
        () or (K,) P, or P_k.
    noise_covariance
        (N, N) R, in place of ``noise_variance``.
    """
    chosen = np.unique(np.asarray(active, np.int64))
    if not chosen.size:
        raise ValueError("at least one device must be active: return None if nobody is")
    devices = channels.shape[1]
    phi = np.ones(devices) if weights is None else np.asarray(weights, float)
    unit = np.asarray(receiver, np.complex128) / np.linalg.norm(receiver)
    gains = unit.conj() @ channels
    if not np.abs(gains[chosen]).min() > 0:
        raise ValueError("the receiver does not hear every active device")
    limits = np.broadcast_to(np.asarray(power, float), devices)
    eta = float(np.min(limits[chosen] * np.abs(gains[chosen]) ** 2 / phi[chosen] ** 2))
    scalars = np.zeros(devices, np.complex128)
    scalars[chosen] = np.sqrt(eta) * phi[chosen] / gains[chosen]
    heard = noise_variance
    if noise_covariance is not None:
        covariance = np.asarray(noise_covariance, np.complex128)
        heard = float(np.vdot(unit, covariance @ unit).real)
        noise_variance = float(np.trace(covariance).real) / unit.size
    error = heard / eta
    return Schedule(
        feasible=True,
        active=chosen,
        active_ids=None,
        receiver=unit,
        power_factor=eta,
        computation_error=error,
        transmit_scalars=scalars,
        gamma=float(limits.max()) * error / noise_variance,
        algorithm={"name": name},
        iterations=1,
        stopped="converged",
    )
