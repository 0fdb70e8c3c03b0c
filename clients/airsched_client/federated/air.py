"""The air: the signals of the scheduled devices add up, and one receiver estimates their sum.

In symbol d the devices in S send ψ_k θ_{k,d}, and the server receives

    y_d = Σ_{k∈S} h_k ψ_k θ_{k,d} + ξ_d,   ξ_d ~ CN(0, R),   R = σ² I_N without interference
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

**Memory**: the sum is linear, s θ̂ = Σ_k a_k u_k + s cᴴξ/√η with a_k = cᴴh_kψ_k/√η. The updates u_k
are added up as they come, and only the noise waits for s, so a round takes a few vectors of D
numbers, however many devices there are.

:class:`AirOptions` adds what a real network has on top: wrong phases, wrong powers, and both
quadratures of a symbol.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from airsched_client.models import Schedule

Real = NDArray[np.floating]
Complex = NDArray[np.complex128]

_BLOCK = 65536
"""Number of symbols received at a time."""


@dataclass(frozen=True)
class AirOptions:
    """Imperfections and choices of the air; by default there are none.

    Parameters
    ----------
    phase_jitter
        Standard deviation of every device's phase error in a round, in radians: the devices are
        not perfectly synchronised.
    power_imbalance_db
        Standard deviation, in dB, of what a device sends over what it was told to send; a device
        keeps its own deviation for the whole run.
    quadratures
        Send two entries per symbol, in phase and in quadrature: half the channel uses, and twice
        the noise power per entry, because the power is shared.
    digital_bits
        Bits per entry of the policy ``digital``, in which every device sends its update in a slot
        of its own.
    """

    phase_jitter: float = 0.0
    power_imbalance_db: float = 0.0
    quadratures: bool = False
    digital_bits: int = 16

    def __post_init__(self) -> None:
        if self.phase_jitter < 0 or self.power_imbalance_db < 0:
            raise ValueError("phase_jitter and power_imbalance_db must be at least 0")
        if not 2 <= self.digital_bits <= 32:
            raise ValueError("digital_bits must be from 2 to 32")

    def amplitudes(self, devices: int, rng: np.random.Generator) -> Real:
        """Draw the factor by which every device's amplitude is off, (K,)."""
        return np.asarray(10 ** (self.power_imbalance_db * rng.standard_normal(devices) / 20))


@dataclass(frozen=True, eq=False)
class Aggregate:
    """What the server estimates from one round's transmission.

    Parameters
    ----------
    mean
        (D,) real, the estimate of Σ_{k∈S} φ_k θ_k / Σ_{k∈S} φ_k.
    measured_error
        Mean of |θ̂ − Σ φ_k θ_k|² over the symbols, in units of the symbols' power: an estimate of
        the ``computation_error`` that the service reports.
    scale
        s, the common factor.
    channel_uses
        Number of symbols sent, at the same time by all devices; over a band, on each subcarrier.
    energy
        Sum of what the devices sent, in units of power times channel uses.
    """

    mean: Real
    measured_error: float
    scale: float
    channel_uses: int
    energy: float


def aggregate(
    channels: Complex,
    schedule: Schedule,
    weights: Real,
    updates: Iterable[Real],
    noise_variance: float,
    rng: np.random.Generator,
    *,
    options: AirOptions | None = None,
    amplitudes: Real | None = None,
    interference: Complex | None = None,
) -> Aggregate:
    """Send the updates of the active devices over the air and estimate their weighted mean.

    Parameters
    ----------
    channels
        (N, K) complex, the true channels.
    schedule
        Receiver, power factor and transmit scalars; at least one device must be active.
    weights
        (K,) φ.
    updates
        The |S| updates, (D,) real each, in the order of ``schedule.active``; a generator is
        consumed one by one.
    noise_variance
        σ².
    amplitudes
        (K,) from :meth:`AirOptions.amplitudes`; all 1 if None.
    interference
        (N, N), (R − σ²I)/σ²; None if there is none.
    """
    if schedule.receiver is None or schedule.power_factor is None:
        raise ValueError("nobody is active in this schedule: there is nothing to receive")
    options = options or AirOptions()
    sent = _sent(schedule, options, amplitudes, rng)
    gains = schedule.receiver.conj() @ channels * sent / np.sqrt(schedule.power_factor)
    total: Complex | None = None
    wanted: Complex | None = None
    size, largest, energy = 0, 0.0, 0.0
    for device, update in zip(schedule.active.tolist(), updates, strict=True):
        symbols = _in_pairs(update) if options.quadratures else update
        power = float(np.vdot(symbols, symbols).real)
        largest = max(largest, power / symbols.size)
        energy += float(np.abs(sent[device]) ** 2) * power
        if total is None or wanted is None:
            size = update.size
            total, wanted = np.zeros((2, symbols.size), np.complex128)
        total += gains[device] * symbols
        wanted += weights[device] * symbols
    assert total is not None
    assert wanted is not None
    scale = float(np.sqrt(largest)) or 1.0
    deviation = scale * np.sqrt(noise_variance / 2 / schedule.power_factor)
    listening = schedule.receiver.conj()
    if interference is not None:
        listening = listening @ np.linalg.cholesky(np.eye(listening.size) + interference)
    # In blocks: the antennas together receive far more numbers than the model has parameters.
    for first in range(0, total.size, _BLOCK):
        block = slice(first, min(first + _BLOCK, total.size))
        noise = rng.standard_normal((2, channels.shape[0], block.stop - first))
        total[block] += deviation * (listening @ (noise[0] + 1j * noise[1]))
    wanted -= total
    error = float(np.vdot(wanted, wanted).real) / total.size / scale**2
    estimate = _from_pairs(total, size) if options.quadratures else total.real
    mean = estimate / weights[schedule.active].sum()
    return Aggregate(mean, error, scale, total.size, energy / scale**2)


def aggregate_band(
    channels: Complex,
    schedules: Sequence[Schedule],
    weights: Real,
    updates: Mapping[int, Real],
    noise_variance: float,
    rng: np.random.Generator,
    *,
    options: AirOptions | None = None,
    amplitudes: Real | None = None,
) -> Aggregate:
    """Send the updates over the subcarriers of a band: entry d on subcarrier d mod F.

    The power is limited on every subcarrier, so each has a scale of its own.

    Parameters
    ----------
    channels
        (F, N, K) complex, the true channels.
    schedules
        One for every subcarrier. Where nobody is active, the model keeps its entries.
    updates
        (D,) real, of every device that is active on some subcarrier.
    """
    size = next(iter(updates.values())).size
    mean, errors, scales = np.zeros(size), [], []
    uses, energy = 0, 0.0
    for f, schedule in enumerate(schedules):
        if not schedule.active.size or f >= size:
            continue
        part = slice(f, None, len(schedules))
        received = aggregate(
            channels[f],
            schedule,
            weights,
            (updates[device][part] for device in schedule.active.tolist()),
            noise_variance,
            rng,
            options=options,
            amplitudes=amplitudes,
        )
        mean[part] = received.mean
        errors.append(received.measured_error)
        scales.append(received.scale)
        uses = max(uses, received.channel_uses)
        energy += received.energy
    return Aggregate(mean, float(np.mean(errors)), float(np.mean(scales)), uses, energy)


def digital(
    channels: Complex,
    power: float | Real,
    noise_variance: float,
    weights: Real,
    updates: Iterable[Real],
    bits: int,
    interference: Complex | None = None,
) -> Aggregate:
    """Receive every device's update in a slot of its own, without noise but rounded.

    Device k rounds its entries to 2^bits levels between ± its largest one, and sends them at the
    capacity of its channel, log2(1 + P_k h_kᴴR⁻¹h_k) bits per channel use. A device without a
    channel sends nothing and is not in the mean.
    """
    if interference is not None:
        lower = np.linalg.cholesky(np.eye(channels.shape[0]) + interference)
        channels = np.asarray(np.linalg.solve(lower, channels), np.complex128)
    gain = np.sum(np.abs(channels) ** 2, axis=0)
    limits = np.broadcast_to(power, gain.shape)
    rates = np.log2(1 + limits * gain / noise_variance)
    total: Real | None = None
    present, error, uses, energy = 0.0, 0.0, 0.0, 0.0
    for device, update in enumerate(updates):
        if rates[device] <= 0:
            continue
        step = float(np.abs(update).max()) / (2 ** (bits - 1) - 1) or 1.0
        rounded = np.rint(update / step) * step
        total = np.zeros(update.size) if total is None else total
        total += weights[device] * rounded
        present += float(weights[device])
        error += float(np.mean((weights[device] * (rounded - update)) ** 2))
        taken = bits * update.size / rates[device]
        uses += taken
        energy += float(limits[device] * taken)
    if total is None:
        raise ValueError("no device has a channel: there is nothing to receive")
    return Aggregate(total / present, error, 1.0, int(np.ceil(uses)), energy)


def _sent(
    schedule: Schedule, options: AirOptions, amplitudes: Real | None, rng: np.random.Generator
) -> Complex:
    """Return what each device multiplies its symbols by, as its hardware does it, (K,)."""
    sent = schedule.transmit_scalars
    if amplitudes is not None:
        sent = sent * amplitudes
    if options.phase_jitter:
        sent = sent * np.exp(1j * options.phase_jitter * rng.standard_normal(sent.size))
    return sent


def _in_pairs(update: Real) -> Complex:
    """Return the first half of the entries in phase and the second half in quadrature."""
    half = -(-update.size // 2)
    symbols = update[:half].astype(np.complex128)
    symbols.imag[: update.size - half] = update[half:]
    return symbols


def _from_pairs(symbols: Complex, size: int) -> Real:
    return np.concatenate([symbols.real, symbols.imag])[:size]
