r"""One least-norm problem for the receiver and the phases of a set of devices.

The channels are scaled by what their devices need, so a unit receiver serves device k when
:math:`|y_k| \ge 1`, with :math:`y_k = c^H h_k(\mu)`. Turn every :math:`\mu_m` by a small angle
:math:`\theta_m`, and take another receiver x:

.. math:: |y_k| \approx \Re\{b_k^H x\} + g_k^T\theta, \qquad
    b_k = h_k(\mu)\,\bar y_k/|y_k|, \qquad
    g_{k,m} = \frac{\partial|y_k|}{\partial\theta_m} = -\Im\{\bar y_k\,\mu_m r_{m,k}\}/|y_k|.

So the least-norm problem of a set of devices (:mod:`.dual.least_norm`) also
has the angles, at a price:

.. math:: \min \tfrac12\|x\|^2 + \tfrac1{2\rho^2}\|\theta\|^2
    \text{ s.t. } \Re\{b_k^H x\} + g_k^T\theta \ge 1 .

That is the same problem with the longer rows :math:`(b_k, \rho g_k)`, solved by the same sweeps. A
*round* is a few sweeps, a step to their receiver and angles, and new rows there. The multipliers
carry over, and say what each device costs with the phases tuned for it.

Cost: a round is O(MKN), for the channels.
"""

import math
from typing import NamedTuple

import numpy as np

from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.dual.descent import State
from app.scheduling.kernels.dual.least_norm import SWEEPS
from app.scheduling.kernels.dual.sweeps import add, sweep
from app.scheduling.kernels.formulas import ENOUGH_MAGNITUDE
from app.scheduling.kernels.linalg.eigen import normalise, squared_norm
from app.scheduling.kernels.surface.phases import Surface, allowed_phase, tuned_channels
from app.scheduling.types import ComplexArray, RealArray

LONGEST = 0.5
"""Limit on the root mean square of the angles of a round."""


class Joint(NamedTuple):
    """One search: receiver and phases, and the problem that moves both.

    ``dual`` has the rows (K, N + ⌈M/2⌉) of b and ρg, two angles to a complex number because only
    the real parts of products count; ``channels`` (N, K) are tuned; ``receiver`` (N,) has unit
    norm.
    """

    surface: Surface
    dual: State
    channels: ComplexArray
    receiver: ComplexArray
    phases: ComplexArray


@compiled
def new_joint(surface: Surface, values: RealArray, unit: float) -> Joint:
    """Return work space for this surface, with every device a member."""
    antennas, elements = surface.to_server.shape
    devices = surface.direct_real.shape[1]
    width = antennas + (elements + 1) // 2
    dual = State(
        np.zeros((devices, width), np.complex128),
        np.ones(devices),
        np.zeros(devices),
        np.zeros(devices),
        np.arange(devices),
        np.empty(0, np.int64),
        np.zeros(width, np.complex128),
        np.empty(0, np.complex128),
        values,
        unit,
    )
    return Joint(
        surface,
        dual,
        np.empty((antennas, devices), np.complex128),
        np.empty(antennas, np.complex128),
        np.empty(elements, np.complex128),
    )


@compiled
def update_responses(joint: Joint) -> float:
    """Write the channels and |y_k| of all devices; return the value of those served."""
    antennas, devices = joint.channels.shape
    tuned = tuned_channels(joint.surface, joint.phases)
    worth = 0.0
    for k in range(devices):
        total = 0j
        for n in range(antennas):
            joint.channels[n, k] = tuned[n, k]
            total += joint.receiver[n].conjugate() * tuned[n, k]
        joint.dual.responses[k] = abs(total)
        if joint.dual.responses[k] >= ENOUGH_MAGNITUDE:
            worth += joint.dual.values[k]
    return worth


@compiled
def move_to(joint: Joint, receiver: ComplexArray, phases: ComplexArray) -> float:
    """Go to a unit receiver and phases; return the value of the devices served there."""
    joint.receiver[:] = receiver
    joint.phases[:] = phases
    return update_responses(joint)


@compiled
def linearise(joint: Joint, count: int, price: float) -> None:
    """Write the rows of the first ``count`` members at the current receiver and phases."""
    surface, dual = joint.surface, joint.dual
    antennas, elements = surface.to_server.shape
    through = np.empty(elements, np.complex128)
    for i in range(elements):
        m = surface.order[i]
        total = 0j
        for n in range(antennas):
            total += joint.receiver[n].conjugate() * surface.to_server[n, m]
        through[i] = total * joint.phases[m]
    slopes = np.zeros(elements + 1)
    for i in range(count):
        k = dual.members[i]
        total = 0j
        for n in range(antennas):
            total += joint.receiver[n] * joint.channels[n, k].conjugate()
        size = abs(total)
        turned = total / size if size > 0.0 else 1.0 + 0j
        for n in range(antennas):
            dual.rows[k, n] = joint.channels[n, k] * turned
        for j in range(elements):
            m = surface.order[j]
            factor = through[j] * turned
            slopes[j] = -price * (
                factor.real * surface.by_device_imag[k, m]
                + factor.imag * surface.by_device_real[k, m]
            )
        for j in range(antennas, dual.rows.shape[1]):
            first = 2 * (j - antennas)
            dual.rows[k, j] = complex(slopes[first], slopes[first + 1])
        dual.sizes[k] = squared_norm(dual.rows[k])
        if not dual.sizes[k] > 0.0:
            # Nothing moves this response: the multiplier grows until the device is dropped.
            dual.sizes[k] = 1.0


@compiled
def balance(joint: Joint, count: int) -> float:
    """Return the ρ for which angles move the members' responses as much as the receiver does."""
    antennas = joint.receiver.shape[0]
    linearise(joint, count, 1.0)
    by_receiver = by_angles = 0.0
    for i in range(count):
        row = joint.dual.rows[joint.dual.members[i]]
        by_receiver += squared_norm(row[:antennas])
        by_angles += squared_norm(row[antennas:])
    return math.sqrt(by_receiver / by_angles) if by_angles > 0.0 else 0.0


@compiled
def move_jointly(joint: Joint, count: int, price: float) -> float:
    """Move to the receiver and angles of a few sweeps; return the smallest response there."""
    dual, surface = joint.dual, joint.surface
    antennas, elements = surface.to_server.shape
    linearise(joint, count, price)
    solution = dual.receiver
    solution[:] = 0.0
    for i in range(count):
        k = dual.members[i]
        if dual.multipliers[k] > 0.0:
            add(dual.rows, k, dual.multipliers[k], solution)
    rows, parts = dual.rows.view(np.float64), solution.view(np.float64)
    for _ in range(SWEEPS):
        sweep(rows, dual.sizes, dual.multipliers, dual.members, count, parts)
    if squared_norm(solution[:antennas]) > 0.0:
        joint.receiver[:] = solution[:antennas]
        normalise(joint.receiver)
    length = price * math.sqrt(squared_norm(solution[antennas:]) / elements)
    factor = price * min(1.0, LONGEST / length) if length > 0.0 else 0.0
    for j in range(elements):
        m = surface.order[j]
        pair = solution[antennas + j // 2]
        angle = factor * (pair.imag if j % 2 else pair.real)
        turned = joint.phases[m] * complex(math.cos(angle), math.sin(angle))
        joint.phases[m] = allowed_phase(turned, 0)
    update_responses(joint)
    least = math.inf
    for i in range(count):
        least = min(least, dual.responses[dual.members[i]])
    return least
