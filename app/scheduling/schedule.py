"""The answer to a problem, and its verification against the formulas."""

import math
import operator
from dataclasses import dataclass

import numpy as np

from app.scheduling.problem import SERVED_TOLERANCE, Problem
from app.scheduling.scheduler import Stopped
from app.scheduling.types import ComplexArray, IndexArray


class VerificationError(AssertionError):
    """A schedule breaks a formula it must satisfy: a defect of the scheduler, not of the input."""


@dataclass(frozen=True, eq=False)
class Schedule:
    """Who transmits, how, and through which receiver.

    Parameters
    ----------
    feasible
        Whether somebody is active and everyone active is served within the tolerance.
    active
        Ascending indices of the scheduled devices, the set S.
    receiver
        (N,) complex, unit norm; None when nobody is active.
    power_factor, computation_error
        η and E; None when nobody is active.
    transmit_scalars
        (K,) complex ψ, zero off the active set.
    iterations, stopped
        How long the algorithm ran, and why it ended.
    """

    feasible: bool
    active: IndexArray
    receiver: ComplexArray | None
    power_factor: float | None
    computation_error: float | None
    transmit_scalars: ComplexArray
    iterations: int
    stopped: Stopped


def verify(problem: Problem, schedule: Schedule, *, keeps_tolerance: bool = True) -> None:
    r"""Check a schedule against the formulas, from the problem's own numbers alone.

    - :math:`\|c\| = 1`, and nobody but the active devices transmits;
    - :math:`|\psi_k|^2 \le P`;
    - :math:`c^H h_k \psi_k = \sqrt{\eta}\,\phi_k`: the aggregate is the weighted sum;
    - :math:`E = \sigma^2/\eta`;
    - unless ``keeps_tolerance`` is false, :math:`|h_k^H c| - e_k \ge \phi_k/\sqrt\gamma`
      with the CSI error bound :math:`e_k`, and so :math:`E \le \varepsilon`.

    Raises
    ------
    VerificationError
        A formula does not hold.
    """
    active, receiver = schedule.active, schedule.receiver
    if active.size == 0:
        if schedule.feasible or receiver is not None or schedule.transmit_scalars.any():
            raise VerificationError("an empty schedule is infeasible and silent")
        return
    if receiver is None or schedule.power_factor is None or schedule.computation_error is None:
        raise VerificationError("active devices need a receiver")
    # Ascending indices in Python: for a set of devices that is quicker than in NumPy.
    order = active.tolist()
    if order[0] < 0 or order[-1] >= problem.devices or any(map(operator.ge, order, order[1:])):
        raise VerificationError("active must be ascending device indices")
    if not abs(np.vdot(receiver, receiver).real - 1) <= SERVED_TOLERANCE:
        raise VerificationError("the receiver must have unit norm")
    scalars = schedule.transmit_scalars[active]
    if np.count_nonzero(schedule.transmit_scalars) != np.count_nonzero(scalars):
        raise VerificationError("an inactive device transmits")
    if not np.abs(scalars).max() <= math.sqrt(problem.power) * (1 + SERVED_TOLERANCE):
        raise VerificationError("a device exceeds the power limit")
    responses = receiver.conj() @ problem.channels
    sums = responses[active] * scalars / problem.weights[active]
    level = math.sqrt(schedule.power_factor)
    if not np.abs(sums - level).max() <= SERVED_TOLERANCE * level:
        raise VerificationError("the received sum is not the weighted sum")
    error = problem.noise_variance / schedule.power_factor
    if not abs(schedule.computation_error - error) <= SERVED_TOLERANCE * error:
        raise VerificationError("the computation error is not σ²/η")
    served = bool(problem.served(receiver)[active].all())
    if schedule.feasible != served or (keeps_tolerance and not served):
        raise VerificationError("a device is scheduled beyond the tolerance")
