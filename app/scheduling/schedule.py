"""The answer to a problem, and its verification against the formulas."""

from typing import NamedTuple

from app.scheduling.coordination import Method
from app.scheduling.irs.problem import IrsProblem
from app.scheduling.kernels import formulas
from app.scheduling.kernels.formulas import broken_formula
from app.scheduling.problem import Problem
from app.scheduling.scheduler import Stopped
from app.scheduling.types import ComplexArray, IndexArray


class VerificationError(AssertionError):
    """A schedule breaks a formula it must satisfy: a bug in the scheduler, not in the input."""


class Schedule(NamedTuple):
    """Who transmits, how, and through which receiver.

    Parameters
    ----------
    feasible
        Whether at least one device is active and all active devices are served.
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
    phases
        (M,) complex, of the surface; everything else refers to the channels H(μ). None without a
        surface.
    upper_bound
        Proven: no receiver serves more devices. None unless it was asked for.
    """

    feasible: bool
    active: IndexArray
    receiver: ComplexArray | None
    power_factor: float | None
    computation_error: float | None
    transmit_scalars: ComplexArray
    iterations: int
    stopped: Stopped
    phases: ComplexArray | None = None
    upper_bound: int | None = None

    @property
    def optimal(self) -> bool:
        """Whether no receiver serves more devices, proven by the bound."""
        is_kept = self.feasible or self.active.size == 0
        return is_kept and self.active.size == self.upper_bound


def tuned_problem(
    problem: Problem | IrsProblem, phases: ComplexArray | None, *, uses_surface: bool = True
) -> Problem:
    """Check ``phases`` and return the problem with the channels they produce.

    Raises
    ------
    VerificationError
        The phases are invalid, or there is no surface.
    """
    if isinstance(problem, Problem):
        if phases is not None:
            raise VerificationError("there is no surface, so there can be no phases")
        return problem
    if phases is None or phases.shape != (problem.elements,):
        raise VerificationError("every element of the surface needs a phase")
    if uses_surface and not problem.grid.holds(phases):
        raise VerificationError("the phases must have unit modulus and be allowed by the grid")
    if not uses_surface and phases.any():
        raise VerificationError("an unused surface reflects nothing: its phases must be zero")
    return problem.tuned(phases)


def verify(
    problem: Problem | IrsProblem,
    schedule: Schedule,
    *,
    keeps_tolerance: bool = True,
    uses_surface: bool = True,
    method: Method = "zero_forcing",
) -> None:
    r"""Check a schedule against the formulas, using only the numbers of the problem.

    With a surface :math:`|\mu_m| = 1`, on the grid if there is one (all zero unless
    ``uses_surface``), and the channels are :math:`h_k(\mu)`:

    - :math:`\|c\| = 1`, and only the active devices transmit;
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
    problem = tuned_problem(problem, schedule.phases, uses_surface=uses_surface)
    active, receiver = schedule.active, schedule.receiver
    if active.size == 0:
        if schedule.feasible or receiver is not None or schedule.transmit_scalars.any():
            raise VerificationError("an empty schedule must be infeasible and transmit nothing")
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
    """Raise :class:`VerificationError` if ``broken_formula`` found anything."""
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
    formulas.ERROR: "the computation error must be that of the transmission",
}
