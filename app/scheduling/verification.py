"""Verification of a schedule against the formulas."""

from app.scheduling.kernels import formulas
from app.scheduling.kernels.formulas import broken_formula
from app.scheduling.problem import Problem
from app.scheduling.schedule import Method, Schedule


class VerificationError(AssertionError):
    """A schedule breaks a formula it must satisfy: a bug in the scheduler, not in the input."""


def verify(
    problem: Problem,
    schedule: Schedule,
    *,
    keeps_tolerance: bool = True,
    method: Method = "zero_forcing",
) -> None:
    r"""Check a schedule against the formulas, using only the numbers of the problem.

    - :math:`\|c\| = 1`, and only the active devices transmit;
    - :math:`|\psi_k|^2 \le P`;
    - with zero forcing :math:`c^H h_k \psi_k = \sqrt{\eta}\,\phi_k`: the aggregate is the weighted
      sum;
    - :math:`E = \sum_{k\in S}(|\psi_k c^H h_k/\sqrt\eta - \phi_k| + |\psi_k|e_k/\sqrt\eta)^2
      + \sigma^2/\eta`, the worst case within the CSI error bounds :math:`e_k`; the nominal error is
      that without them;
    - unless ``keeps_tolerance`` is false, :math:`|h_k^H c| \ge \phi_k/\sqrt\gamma` and so
      :math:`E \le \varepsilon`; with CSI errors, :math:`E \le \varepsilon` itself.

    Raises
    ------
    VerificationError
        A formula does not hold.
    """
    if schedule.phases is not None:
        raise VerificationError("there is no surface, so there can be no phases")
    if is_empty(schedule):
        return
    active, receiver = schedule.active, schedule.receiver
    if receiver is None or schedule.power_factor is None or schedule.computation_error is None:
        raise VerificationError("active devices need a receiver")
    if (schedule.nominal_error is None) == problem.uncertain:
        raise VerificationError("the nominal error is stated where estimates may be wrong")
    nominal = (
        schedule.computation_error if schedule.nominal_error is None else schedule.nominal_error
    )
    broken = broken_formula(
        problem.channels,
        problem.weights,
        problem.required_gains,
        problem.errors,
        problem.power,
        problem.noise_variance,
        problem.max_error,
        receiver,
        active,
        schedule.power_factor,
        schedule.computation_error,
        nominal,
        schedule.transmit_scalars,
        method == "zero_forcing",
    )
    require_unbroken(broken, feasible=schedule.feasible, keeps_tolerance=keeps_tolerance)


def is_empty(schedule: Schedule) -> bool:
    """Return whether nobody is active.

    Raises
    ------
    VerificationError
        Nobody is, but the schedule is feasible or transmits something.
    """
    if schedule.active.size:
        return False
    if schedule.feasible or schedule.receiver is not None or schedule.transmit_scalars.any():
        raise VerificationError("an empty schedule must be infeasible and transmit nothing")
    return True


def require_unbroken(broken: int, *, feasible: bool, keeps_tolerance: bool) -> None:
    """Raise :class:`VerificationError` if ``broken_formula`` found anything."""
    if broken not in (0, formulas.TOLERANCE):
        raise VerificationError(_BROKEN[broken])
    served = broken != formulas.TOLERANCE
    if feasible != served or (keeps_tolerance and not served):
        raise VerificationError("a device is scheduled beyond the tolerance")


def require_within_bound(schedule: Schedule) -> None:
    """Raise :class:`VerificationError` if ``schedule`` exceeds its bound."""
    bound = schedule.upper_bound
    if bound is None or not schedule.feasible:
        return
    if schedule.reached > bound * (1 + formulas.SERVED_TOLERANCE):
        raise VerificationError("more is served than was proven possible")


_BROKEN = {
    formulas.ORDER: "active must be ascending device indices",
    formulas.NORM: "the receiver must have unit norm",
    formulas.SILENCE: "an inactive device transmits",
    formulas.POWER: "a device exceeds the power limit",
    formulas.SUM: "the received sum is not the weighted sum",
    formulas.ERROR: "the computation error must be that of the transmission",
}
