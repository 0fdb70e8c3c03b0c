r"""Polishing: the receiver with the least computation error for a given set of devices.

For a set S the error :math:`E = \sigma^2/\eta` is least where
:math:`\eta/P = \min_{k\in S}|h_k^H c|^2/\phi_k^2` is largest, over unit receivers c. That is the
least-norm problem with channels divided by :math:`\phi_k`. With a bound on the CSI error, the
required gains are on a different scale, so both are kept: at the current level
:math:`t = \min_{k\in S}|h_k^H c|/\phi_k`, device k needs :math:`\max(t\phi_k, \sqrt{q_k})`, and a
receiver of smaller norm that still meets this reaches, at unit norm, a higher level.

Cost: O(N) per visit to a device. A few digits take tens of sweeps over S, O(|S|N) each.
"""

import math

import numpy as np

from app.scheduling.kernels.dual.level import raise_level
from app.scheduling.problem import Problem
from app.scheduling.stopping import NEVER
from app.scheduling.types import ComplexArray, MaskArray

TOLERANCE = 1e-4
"""Polishing ends when the level is this close to its bound, relatively."""

MAX_VISITS = 10_000_000
"""Limit on visits to a device, O(N) each."""

QUICK_TOLERANCE = 1e-3
"""The tolerance with which algorithms polish what they have found."""


def quick_visits(devices: int) -> int:
    """Return a limit on visits with which polishing takes no longer than the search before it."""
    return 10_000 + 20 * devices


def polish(
    problem: Problem,
    receiver: ComplexArray,
    active: MaskArray,
    stop: MaskArray = NEVER,
    tolerance: float = TOLERANCE,
    most_visits: int = MAX_VISITS,
) -> tuple[ComplexArray, MaskArray]:
    """Improve the receiver of a schedule, and add every device it newly serves.

    Parameters
    ----------
    receiver
        (N,), with a nonzero gain on every active device.
    active
        (K,) mask of the scheduled devices.
    stop
        (1,) mask; polishing ends early when it becomes true.
    tolerance
        Stop this close to a local maximum of the level, relatively.
    most_visits
        Bound on the effort, in visits to a device of O(N) each.

    Returns
    -------
    receiver (N,) of unit norm, active (K,)
        No device leaves, and every served device stays served. The computation error over the same
        devices never grows; it can only grow when a new device joins, within the tolerance of the
        problem.
    """
    if not active.any():
        return receiver, active
    receiver = _unit(receiver)
    while True:
        # Devices it already serves join first, so that the receiver is polished for them as well.
        served = problem.served(receiver)
        active = active | served
        receiver, visits = _raise_level(
            problem, receiver, active, served, stop, tolerance, most_visits
        )
        most_visits -= visits
        joining = problem.served(receiver) & ~active
        if not joining.any() or most_visits <= 0 or stop[0]:
            return receiver, active | joining


def _raise_level(
    problem: Problem,
    receiver: ComplexArray,
    active: MaskArray,
    served: MaskArray,
    stop: MaskArray,
    tolerance: float,
    most_visits: int,
) -> tuple[ComplexArray, int]:
    """Return a unit receiver whose min |h_kᴴc|/φ_k over the active is no smaller, and visits."""
    members = np.flatnonzero(active)
    # Of a device that is not served (a schedule may ignore the tolerance) only its response is kept
    # above rounding.
    needed = np.where(
        served[members], problem.required_gains[members], problem.resolved_gains[members]
    )
    return raise_level(
        np.ascontiguousarray(problem.channels[:, members]),
        problem.weights[members],
        np.sqrt(needed),
        receiver,
        tolerance,
        most_visits,
        stop,
    )


def _unit(vector: ComplexArray) -> ComplexArray:
    return vector / math.sqrt(np.vdot(vector, vector).real)
