"""The definition of a kind of problem: its algorithms, and how a selection becomes an answer.

To add a kind, add a package with a problem (:class:`app.scheduling.any_problem.AnyProblem`), a
``Kind`` and a folder of schedulers, and name the kind in :mod:`app.scheduling.registry`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app.scheduling.any_problem import AnyProblem
from app.scheduling.schedule import Schedule
from app.scheduling.scheduler import Selection
from app.scheduling.spec import SolveSpec
from app.scheduling.types import ComplexArray, IndexArray, MaskArray


@dataclass(frozen=True)
class Kind:
    """A kind of problem.

    Parameters
    ----------
    name
        Its name, put before those of its algorithms where all kinds are listed; empty for plain
        problems.
    problem
        The class of its problems.
    schedulers
        The package whose modules define its algorithms.
    answer
        (problem, selection, spec, stop) → the verified schedule of a selection that one of its
        algorithms made.
    verify
        (problem, schedule, options) → None; raises ``VerificationError`` if the schedule breaks a
        formula. For callers; ``answer`` makes these checks itself.
    upper_bound
        (problem, schedule, spec, stop) → a proven bound on how many devices can be served, or on
        the sum of their priorities.
    least_tolerance
        (problem, devices, stop) → a receiver of the least error for these devices, phases of the
        surface or None, and the tolerance γ that they need.
    example
        A small problem, solved by every algorithm to compile its kernels.
    """

    name: str
    problem: type[AnyProblem]
    schedulers: str
    answer: Callable[[Any, Selection, SolveSpec, MaskArray], Schedule]
    verify: Callable[..., None]
    upper_bound: Callable[[Any, Schedule, SolveSpec, MaskArray], float]
    least_tolerance: Callable[
        [Any, IndexArray, MaskArray], tuple[ComplexArray, ComplexArray | None, float]
    ]
    example: AnyProblem
