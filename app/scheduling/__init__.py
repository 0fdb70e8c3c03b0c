"""The pure core: a problem goes in, a verified schedule comes out. It knows nothing of the web."""

from app.scheduling.any_problem import AnyProblem, InvalidProblemError
from app.scheduling.frontier import Frontier, find_frontier
from app.scheduling.irs.problem import IrsProblem
from app.scheduling.kind import Kind
from app.scheduling.problem import Problem
from app.scheduling.registry import (
    IRS_SCHEDULERS,
    KINDS,
    SCHEDULERS,
    WIDEBAND_SCHEDULERS,
    kind_with,
    schedulers_of,
)
from app.scheduling.schedule import Method, Schedule
from app.scheduling.scheduler import (
    Context,
    DeadlineExceededError,
    InvalidParameterError,
    Pace,
    Parameters,
    Scheduler,
)
from app.scheduling.solver import solve, solve_specified, verify, with_bound
from app.scheduling.spec import SolveSpec
from app.scheduling.verification import VerificationError
from app.scheduling.wideband.problem import WidebandProblem

__all__ = [
    "IRS_SCHEDULERS",
    "KINDS",
    "SCHEDULERS",
    "WIDEBAND_SCHEDULERS",
    "AnyProblem",
    "Context",
    "DeadlineExceededError",
    "Frontier",
    "InvalidParameterError",
    "InvalidProblemError",
    "IrsProblem",
    "Kind",
    "Method",
    "Pace",
    "Parameters",
    "Problem",
    "Schedule",
    "Scheduler",
    "SolveSpec",
    "VerificationError",
    "WidebandProblem",
    "find_frontier",
    "kind_with",
    "schedulers_of",
    "solve",
    "solve_specified",
    "verify",
    "with_bound",
]
