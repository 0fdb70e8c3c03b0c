"""Problems with a surface: answered as the plain problem that the phases lead to."""

from typing import Any

from app.scheduling import plain
from app.scheduling.irs.bounding import upper_bound
from app.scheduling.irs.least_tolerance import least_tolerance
from app.scheduling.irs.problem import IrsProblem
from app.scheduling.kind import Kind
from app.scheduling.problem import Problem
from app.scheduling.schedule import Schedule
from app.scheduling.scheduler import Selection
from app.scheduling.spec import SolveSpec
from app.scheduling.types import ComplexArray, MaskArray
from app.scheduling.verification import VerificationError
from app.scheduling.verification import verify as verify_plain

_CHANNELS, _WEIGHTS = plain.EXAMPLE.channels, plain.EXAMPLE.weights


def _answer(
    problem: IrsProblem, selection: Selection, spec: SolveSpec, stop: MaskArray
) -> Schedule:
    tuned = _tuned(problem, selection.phases, uses_surface=spec.scheduler.uses_surface)
    return plain.answer(tuned, selection, spec, stop)


def _verify(
    problem: IrsProblem, schedule: Schedule, *, uses_surface: bool = True, **options: Any
) -> None:
    r"""Check the phases, and the schedule for the channels that they produce.

    :math:`|\mu_m| = 1`, on the grid if there is one; all zero unless ``uses_surface``.
    """
    tuned = _tuned(problem, schedule.phases, uses_surface=uses_surface)
    verify_plain(tuned, schedule._replace(phases=None), **options)


def _tuned(problem: IrsProblem, phases: ComplexArray | None, *, uses_surface: bool) -> Problem:
    """Check ``phases`` and return the problem with the channels they produce."""
    if phases is None or phases.shape != (problem.elements,):
        raise VerificationError("every element of the surface needs a phase")
    if uses_surface and not problem.grid.holds(phases):
        raise VerificationError("the phases must have unit modulus and be allowed by the grid")
    if not uses_surface and phases.any():
        raise VerificationError("an unused surface reflects nothing: its phases must be zero")
    return problem.tuned(phases)


SURFACE = Kind(
    name="irs",
    problem=IrsProblem,
    schedulers="app.scheduling.irs.schedulers",
    answer=_answer,
    verify=_verify,
    upper_bound=upper_bound,
    least_tolerance=least_tolerance,
    example=IrsProblem(_CHANNELS, _CHANNELS, _CHANNELS, _WEIGHTS, gamma=1.0),
)
