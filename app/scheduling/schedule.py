"""The answer to a problem, and its verification against the formulas."""

from typing import NamedTuple

from app.scheduling.coordination import Method
from app.scheduling.kernels import formulas
from app.scheduling.kernels.formulas import broken_formula
from app.scheduling.problem import Problem
from app.scheduling.scheduler import Stopped
from app.scheduling.types import ComplexArray, IndexArray


class VerificationError(AssertionError):
    """A schedule breaks a formula it must satisfy: a defect of the scheduler, not of the input."""


class Schedule(NamedTuple):
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


def verify(
    problem: Problem,
    schedule: Schedule,
    *,
    keeps_tolerance: bool = True,
    method: Method = "zero_forcing",
) -> None:
    r"""Check a schedule against the formulas, from the problem's own numbers alone.

    - :math:`\|c\| = 1`, and nobody but the active devices transmits;
    - :math:`|\psi_k|^2 \le P`;
    - with zero forcing :math:`c^H h_k \psi_k = \sqrt{\eta}\,\phi_k`: the aggregate is the weighted
      sum;
    - :math:`E = \sum_{k\in S}|\psi_k c^H h_k/\sqrt\eta - \phi_k|^2 + \sigma^2/\eta`;
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
    broken = broken_formula(
        problem.channels,
        problem.weights,
        problem.required_gains,
        problem.power,
        problem.noise_variance,
        receiver,
        active,
        schedule.power_factor,
        schedule.computation_error,
        schedule.transmit_scalars,
        method == "zero_forcing",
    )
    require_unbroken(broken, feasible=schedule.feasible, keeps_tolerance=keeps_tolerance)


def require_unbroken(broken: int, *, feasible: bool, keeps_tolerance: bool) -> None:
    """Raise the :class:`VerificationError` of what ``broken_formula`` found, if anything."""
    if broken not in (0, formulas.TOLERANCE):
        raise VerificationError(_BROKEN[broken])
    served = broken != formulas.TOLERANCE
    if feasible != served or (keeps_tolerance and not served):
        raise VerificationError("a device is scheduled beyond the tolerance")


_BROKEN = {
    formulas.ORDER: "active must be ascending device indices",
    formulas.NORM: "the receiver must have unit norm",
    formulas.SILENCE: "an inactive device transmits",
    formulas.POWER: "a device exceeds the power limit",
    formulas.SUM: "the received sum is not the weighted sum",
    formulas.ERROR: "the computation error is not that of the transmission",
}
