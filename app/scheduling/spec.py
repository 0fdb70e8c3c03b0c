"""How a problem is to be solved: the algorithm and every option, as one frozen value."""

from dataclasses import dataclass

import numpy as np

from app.scheduling.any_problem import AnyProblem, InvalidProblemError, Rebuilt
from app.scheduling.problem import LARGEST, frozen
from app.scheduling.schedule import Method
from app.scheduling.scheduler import Parameters, Scheduler
from app.scheduling.types import ComplexArray

BOUND_MS = 20.0
"""How long a bound may take unless the request says."""


@dataclass(frozen=True, eq=False)
class SolveSpec(Rebuilt):
    """One algorithm with its parameters, and what every algorithm is asked.

    Parameters
    ----------
    scheduler, parameters
        The algorithm, and an instance of its parameters.
    seed
        Source of all randomness: the same problem, specification and seed give the same schedule.
    warm_start
        Complex receiver to start from, such as the last round's; None for none.
    coordination
        How η and ψ are set once the receiver and the active set are known.
    polish
        Replace the receiver by the one with the least error for the set found, and take in
        everyone whom it serves.
    bound
        Prove how many devices any receiver can serve at most.
    bound_ms
        Milliseconds that the proof may take beside the schedule; None for :data:`BOUND_MS`.

    Raises
    ------
    InvalidProblemError
        A value is invalid; the error names the option.
    """

    scheduler: Scheduler
    parameters: Parameters
    seed: int = 0
    warm_start: ComplexArray | None = None
    coordination: Method = "zero_forcing"
    polish: bool = False
    bound: bool = False
    bound_ms: float | None = None

    def __post_init__(self) -> None:
        if self.bound_ms is not None:
            if not self.bound:
                raise InvalidProblemError("bound_ms", "needs bound: set it to true as well")
            if not self.bound_ms > 0:
                raise InvalidProblemError("bound_ms", "must be positive")
        if self.warm_start is None:
            return
        start = frozen("warm_start", self.warm_start, np.complex128)
        if start.size and not np.abs(start.view(np.float64)).max() <= LARGEST:
            raise InvalidProblemError(
                "warm_start", f"must be finite, and at most {LARGEST:g} in magnitude"
            )
        object.__setattr__(self, "warm_start", start)

    @property
    def bound_seconds(self) -> float:
        """How long the proof may take."""
        return (self.bound_ms or BOUND_MS) / 1e3

    def require_suited(self, problem: AnyProblem) -> None:
        """Raise :class:`InvalidProblemError` if ``problem`` cannot be solved this way."""
        scheduler = self.scheduler
        limits = {"devices": scheduler.max_devices, "elements": scheduler.max_elements}
        for what, most in limits.items():
            if most is not None and problem.sizes.get(what, 0) > most:
                size = problem.sizes[what]
                raise InvalidProblemError(
                    "algorithm", f"{scheduler.name} takes at most {most} {what}, not {size}"
                )
        if problem.priorities is not None and not scheduler.takes_priorities:
            field = problem.valued_by
            raise InvalidProblemError(
                field, f"{scheduler.name} takes no {field}; choose dual_pursuit, for example"
            )
        if self.bound and problem.why_no_bound is not None:
            raise InvalidProblemError("bound", problem.why_no_bound)
        if self.warm_start is not None and self.warm_start.shape != problem.receiver_shape:
            raise InvalidProblemError(
                "warm_start",
                f"must have the shape of a receiver, {list(problem.receiver_shape)}, "
                f"not {list(self.warm_start.shape)}",
            )
