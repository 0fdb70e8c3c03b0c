"""The formulas that a schedule of a cell satisfies, in the cell's own coordinates."""

import numpy as np

from app.scheduling.irs.problem import IrsProblem
from app.scheduling.problem import Problem
from app.scheduling.schedule import Method, Schedule
from app.scheduling.types import ComplexArray, RealArray
from app.scheduling.verification import VerificationError

ROUNDING = 1e-7
"""Relative; coarser than for standard problems, because the change of coordinates rounds too."""


def verify_in_cell(
    channels: ComplexArray,
    stated: Problem | IrsProblem,
    power: RealArray,
    noise: ComplexArray | RealArray,
    schedule: Schedule,
    method: Method,
    *,
    keeps_tolerance: bool,
) -> None:
    r"""Check a schedule with active devices, without any change of coordinates.

    - :math:`\|c\| = 1`, only active devices transmit, and :math:`|\psi_k|^2 \le P_k`;
    - with zero forcing :math:`c^H h_k\psi_k = \sqrt\eta\,\phi_k`;
    - :math:`E = \sum_S |\psi_k c^H h_k/\sqrt\eta - \phi_k|^2 + c^H R c/\eta`. With a bound on the
      CSI error it covers the worst channels, :math:`|\psi_k|e_k/\sqrt\eta` on top of each bias;
    - with zero forcing :math:`E \le \varepsilon`, unless ``keeps_tolerance`` is false.

    Parameters
    ----------
    channels
        (N, K), tuned if there is a surface.
    power, noise
        (K,) P_k, and (N, N) R.

    Raises
    ------
    VerificationError
        A formula does not hold.
    """
    active, receiver, reported = schedule.active, schedule.receiver, schedule.computation_error
    if receiver is None or schedule.power_factor is None or reported is None:
        raise VerificationError("active devices need a receiver")
    weights, scalars = stated.weights[active], schedule.transmit_scalars[active]
    if abs(np.vdot(receiver, receiver).real - 1) > ROUNDING:
        raise VerificationError("the receiver must have unit norm")
    if np.count_nonzero(schedule.transmit_scalars) != np.count_nonzero(scalars):
        raise VerificationError("an inactive device transmits")
    if (np.abs(scalars) ** 2 > power[active] * (1 + ROUNDING)).any():
        raise VerificationError("a device exceeds its power limit")
    level = np.sqrt(schedule.power_factor)
    bias = np.abs(scalars * (receiver.conj() @ channels[:, active]) / level - weights)
    if method == "zero_forcing" and (bias > ROUNDING * weights).any():
        raise VerificationError("the received sum is not the weighted sum")
    through = np.vdot(receiver, noise @ receiver).real / schedule.power_factor
    bounds = stated.errors[active]
    worst = float(np.sum((bias + np.abs(scalars) * bounds / level) ** 2) + through)
    rounding = ROUNDING * (worst + weights @ weights)
    # The bounds of the standard problem cover those of the cell, and may be a little larger.
    if worst > reported + rounding or (not bounds.any() and reported > worst + rounding):
        raise VerificationError("the computation error must be that of the transmission")
    tolerated = stated.gamma * stated.noise_variance / stated.power * (1 + ROUNDING)
    if method == "zero_forcing" and keeps_tolerance and reported > tolerated:
        raise VerificationError("a device is scheduled beyond the tolerance")
