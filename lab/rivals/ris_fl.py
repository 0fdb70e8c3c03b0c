"""Gibbs sampling with successive convex approximation, after Liu, Yuan and Zhang (2021).

H. Liu, X. Yuan and Y.-J. A. Zhang, *Reconfigurable Intelligent Surface Enabled Federated Learning:
A Unified Communication-Learning Design Approach*, arXiv:2011.10282; "RIS-FL" is the name of its
published simulation. That was read for the defaults, which are the constants below, for the
geometry and for the order of the steps; the code here is our own.

**Inner problem**: for a given set, the receiver f and the phases θ with the largest
min_k |fᴴh_k(θ)|²/φ_k², h_k(θ) = d_k + G_k θ. Around the last (f, θ) the gains are replaced by their
tangents less τ times the squared distance; the dual of that problem has one weight w_k per device:

    min over the simplex of  2‖Σ w_k a_k‖ + 2‖Σ w_k b_k‖₁ − Σ w_k c_k,
    a_k = τf + h_k h_kᴴf/φ_k²,   b_k = τθ + G_kᴴf fᴴh_k/φ_k²,
    c_k = |fᴴh_k|²/φ_k² + 2τ(M + 1) + 2Re(θᴴG_kᴴf fᴴh_k)/φ_k²,

and the new f and θ are Σ w_k a_k and Σ w_k b_k, normalised. Ours minimises it by exponentiated
gradients until the duality gap is below a thousandth of the value, the published simulation by a
general solver.

**Outer problem**: the set. In every iteration all sets that differ in one device are tried, and one
of them or the same is drawn with probability ∝ exp(−cost/β), β falling by a tenth each time. The
cost is that of :mod:`lab.rivals.learning_cost` with w = 1. The best set of all is returned, which
favours the method.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from app.scheduling import IrsProblem
from app.scheduling.types import ComplexArray, MaskArray, RealArray
from lab.channels import iid_channels
from lab.rivals.learning_cost import cost

ANTENNAS, DEVICES, ELEMENTS, SNR_DB, UNIT = 5, 40, 40, 90.0, 1e-5
INNER_ITERATIONS, SAMPLES, THRESHOLD, PROXIMITY = 100, 50, 1e-2, 1.0
COOLING, COLDEST = 0.9, 1e-4
REFERENCE = "Liu, Yuan and Zhang (2021), [arXiv:2011.10282](https://arxiv.org/abs/2011.10282)"
OBJECTIVE = r"4(1 − Φ_S/Φ)² + (σ²/P) max(φ_k²/\|cᴴh_k\|²)/Φ_S²"
"""The paper and what it minimises, as Markdown."""
_DUAL_STEPS, _GAP = 300, 1e-3


class Sampled(NamedTuple):
    """The best set found, its receiver and phases, and its cost."""

    active: MaskArray
    receiver: ComplexArray
    phases: ComplexArray
    cost: float


def select(
    problem: IrsProblem,
    rng: np.random.Generator,
    samples: int = SAMPLES,
    threshold: float = THRESHOLD,
) -> Sampled:
    """Sample sets, from that of all devices; the power of the problem must be one."""
    direct = np.ascontiguousarray(problem.direct.T)
    cascade = np.ascontiguousarray(
        problem.irs_to_server[None] * problem.devices_to_irs.T[:, None, :]
    )
    weights = problem.weights
    devices = weights.size

    def evaluate(active: MaskArray, receiver: ComplexArray, phases: ComplexArray) -> Sampled:
        if not active.any():
            return Sampled(active, receiver, phases, np.inf)
        found = tune(
            direct[active], cascade[active], weights[active] ** 2, receiver, phases, threshold
        )
        error = problem.noise_variance / found[2]
        return Sampled(
            active, found[0], found[1], cost(weights, np.flatnonzero(active), error, 1.0)
        )

    phases = np.ones(problem.irs_to_server.shape[1], complex)
    receiver = direct[0] + cascade[0] @ phases
    now = evaluate(np.ones(devices, bool), receiver / np.linalg.norm(receiver), phases)
    best, warmth = now, min(1.0, now.cost)
    starts = [(now.receiver, now.phases)] * devices
    for _ in range(samples):
        options = [now]
        for device in range(devices):
            other = now.active.copy()
            other[device] = not other[device]
            option = evaluate(other, *starts[device])
            starts[device] = (option.receiver, option.phases)
            options.append(option)
        costs = np.array([option.cost for option in options])
        chances = np.exp(-(costs - costs.min()) / warmth)
        now = options[rng.choice(devices + 1, p=chances / chances.sum())]
        best = min(best, *options, key=lambda option: option.cost)
        warmth = max(COOLING * warmth, COLDEST)
    return best


@njit(cache=True)  # type: ignore[untyped-decorator]
def tune(
    direct: ComplexArray,
    cascade: ComplexArray,
    squares: RealArray,
    receiver: ComplexArray,
    phases: ComplexArray,
    threshold: float,
) -> tuple[ComplexArray, ComplexArray, float]:  # pragma: no cover
    """Return f, θ and min_k |fᴴh_k|²/φ_k²: Algorithm 1 of the paper.

    Parameters
    ----------
    direct, cascade
        d_k and G_k, (K, N) and (K, N, M).
    squares
        φ_k².
    receiver, phases
        Where to start.
    threshold
        Stop when the least gain changes by less than this share of itself, or of one.
    """
    devices, antennas = direct.shape
    elements = phases.size
    f, theta = receiver.copy(), phases.copy()
    a = np.empty((devices, antennas), np.complex128)
    b = np.empty((devices, elements), np.complex128)
    c = np.empty(devices)
    before = -1.0
    least = 0.0
    for iteration in range(INNER_ITERATIONS + 1):
        least = np.inf
        for k in range(devices):
            h = direct[k] + cascade[k] @ theta
            gain = np.vdot(f, h)
            share = abs(gain) ** 2 / squares[k]
            least = min(least, share)
            a[k] = PROXIMITY * f + h * (np.conj(gain) / squares[k])
            slope = (np.conj(f) @ cascade[k]).conj() * (gain / squares[k])
            b[k] = PROXIMITY * theta + slope
            c[k] = share + 2 * PROXIMITY * (elements + 1) + 2 * np.vdot(theta, slope).real
        if iteration == INNER_ITERATIONS or (
            before >= 0 and abs(least - before) <= threshold * min(1.0, least)
        ):
            break
        before = least
        weights = least_dual(a, b, c)
        f, theta = _normalised(a, b, weights)
    return f, theta, least


@njit(cache=True)  # type: ignore[untyped-decorator]
def _normalised(
    a: ComplexArray, b: ComplexArray, weights: RealArray
) -> tuple[ComplexArray, ComplexArray]:  # pragma: no cover
    f = a.T @ weights.astype(np.complex128)
    theta = b.T @ weights.astype(np.complex128)
    for m in range(theta.size):
        theta[m] /= max(abs(theta[m]), 1e-300)
    return f / np.linalg.norm(f), theta


@njit(cache=True)  # type: ignore[untyped-decorator]
def least_dual(a: ComplexArray, b: ComplexArray, c: RealArray) -> RealArray:  # pragma: no cover
    """Return the weights on the simplex with the least dual value."""
    devices = c.size
    weights = np.full(devices, 1.0 / devices)
    slopes = np.empty(devices)
    trial_slopes = np.empty(devices)
    value = _dual(a, b, c, weights, slopes)
    step = 1.0
    for _ in range(_DUAL_STEPS):
        # The slopes are the constraints of the primal at the maximisers: the gap is known.
        if value - slopes.min() <= _GAP * abs(value):
            break
        while step > 1e-12:
            trial = weights * np.exp(-step * (slopes - slopes.min()))
            trial /= trial.sum()
            tried = _dual(a, b, c, trial, trial_slopes)
            if tried <= value:
                break
            step /= 2
        if step <= 1e-12:
            break
        weights, value = trial, tried
        slopes[:] = trial_slopes
        step *= 1.5
    return weights


@njit(cache=True)  # type: ignore[untyped-decorator]
def _dual(
    a: ComplexArray, b: ComplexArray, c: RealArray, weights: RealArray, slopes: RealArray
) -> float:  # pragma: no cover
    """Return the dual value, and fill in its slopes."""
    f, theta = _normalised(a, b, weights)
    for k in range(c.size):
        slopes[k] = 2 * np.vdot(a[k], f).real + 2 * np.vdot(b[k], theta).real - c[k]
    return float(weights @ slopes)


def drop(rng: np.random.Generator, snr_db: float = SNR_DB) -> IrsProblem:
    """Return the published simulation's default setting, amplitudes in units of 10⁻⁵.

    The unit matters: τ = 1 and the threshold are relative to it.

    The server is at (−50, 0, 10) m and the surface at (0, 0, 10) m; half of the devices are up to
    20 m before the surface, half 100 to 120 m behind it, all within 10 m of the axis. 915 MHz;
    exponent 3.76 for the direct links, free space by way of the surface, Rayleigh fading
    everywhere. Half of the devices have 1000 to 2000 samples, the others 100 to 200.
    """
    half = DEVICES // 2
    along = np.concatenate([rng.uniform(-20, 0, half), rng.uniform(100, 120, half)])
    across = rng.uniform(-10, 10, DEVICES)
    to_surface = np.sqrt(along**2 + across**2 + 100)
    to_server = np.sqrt((along + 50) ** 2 + across**2 + 100)
    wave = 3e8 / 915e6 / (4 * np.pi)
    antenna, element = 10**0.5, 10**0.5
    direct_gain = antenna * (wave / to_server) ** 3.76
    area = ELEMENTS**2 * 0.1**2 / (4 * np.pi)
    surface_gain = antenna * element * area * (wave / to_surface) ** 2 * (wave / 50.0) ** 2
    sizes = rng.integers(1000, 2001, DEVICES).astype(float)
    few = rng.permutation(DEVICES)[:half]
    sizes[few] = rng.integers(100, 201, half)
    return IrsProblem(
        iid_channels(rng, ANTENNAS, DEVICES) * np.sqrt(direct_gain) / UNIT,
        iid_channels(rng, ANTENNAS, ELEMENTS),
        iid_channels(rng, ELEMENTS, DEVICES) * np.sqrt(surface_gain) / UNIT,
        sizes / sizes.mean(),
        1.0,
        noise_variance=10 ** (-snr_db / 10) / UNIT**2,
    )
