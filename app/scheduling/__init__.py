"""The pure core: a problem goes in, a verified schedule comes out. It knows nothing of the web."""

from app.scheduling.coordination import Method
from app.scheduling.frontier import Frontier, find_frontier
from app.scheduling.irs.problem import IrsProblem
from app.scheduling.problem import InvalidProblemError, Problem
from app.scheduling.registry import IRS_SCHEDULERS, SCHEDULERS, schedulers_of
from app.scheduling.schedule import Schedule, VerificationError, verify
from app.scheduling.scheduler import (
    Context,
    DeadlineExceededError,
    InvalidParameterError,
    Pace,
    Parameters,
    Scheduler,
)
from app.scheduling.solver import solve, solve_specified, with_bound
from app.scheduling.spec import SolveSpec

__all__ = [
    "IRS_SCHEDULERS",
    "SCHEDULERS",
    "Context",
    "DeadlineExceededError",
    "Frontier",
    "InvalidParameterError",
    "InvalidProblemError",
    "IrsProblem",
    "Method",
    "Pace",
    "Parameters",
    "Problem",
    "Schedule",
    "Scheduler",
    "SolveSpec",
    "VerificationError",
    "find_frontier",
    "schedulers_of",
    "solve",
    "solve_specified",
    "verify",
    "with_bound",
]
