"""The definition of a scheduler: a name, frozen parameters with bounds, and one function."""

import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
from annotated_types import Ge, GroupedMetadata, Gt, Le, Lt

from app.scheduling.schedule import Stopped
from app.scheduling.types import ComplexArray, MaskArray

Pace = Literal["short", "anytime", "slow"]
"""How long a solve takes, and how to stop it.

short
    It ends soon. If it checks the stop flag, it has nothing to return before its end.
anytime
    It checks the stop flag, and then returns its best so far. Runs without the interpreter lock.
slow
    It does not check the flag: only killing its process ends it early.
"""


OVERHEAD_SECONDS = 60e-6
"""Seconds outside the kernels: checks, coordination and verification of a small problem."""


class DeadlineExceededError(Exception):
    """The deadline passed before there was anything to answer."""


class InvalidParameterError(ValueError):
    """A parameter of an algorithm is out of bounds."""


@dataclass(frozen=True)
class Parameters:
    """Base of every scheduler's parameters: a frozen dataclass whose annotations are its bounds.

    Bounds are written as ``Annotated[float, annotated_types.Interval(gt=0, lt=1)]`` and choices
    as ``Literal[…]``, so the request schema and this check share one declaration.
    """

    _rules: ClassVar[tuple["Rule", ...]] = ()

    def __init_subclass__(cls) -> None:
        cls._rules = tuple(_rules(cls))

    def __post_init__(self) -> None:
        for name, holds, rule in self._rules:
            value = getattr(self, name)
            if not holds(value):
                raise InvalidParameterError(f"{name} must be {rule}, not {value!r}")


@dataclass(frozen=True)
class Context:
    """What a scheduler gets in addition to the problem.

    Parameters
    ----------
    seed
        Source of all randomness: the same problem, parameters and seed give the same schedule.
    stop
        (1,) mask, set from outside when the deadline has passed; slow schedulers do not check it.
    warm_start
        Complex receiver to start from, such as the last round's; None for none.
    """

    seed: int = 0
    stop: MaskArray = field(default_factory=lambda: np.zeros(1, np.bool_))
    warm_start: ComplexArray | None = None

    @property
    def stopped(self) -> Stopped:
        """Why an algorithm that ends now has ended."""
        return "deadline" if self.stop[0] else "converged"


class Selection(NamedTuple):
    """The result of a scheduler: a receiver and the devices to schedule.

    Parameters
    ----------
    receiver
        (N,) complex; its norm and phase do not matter.
    active
        (K,) mask of the scheduled devices.
    phases
        (M,) complex, of the surface; None without one.
    upper_bound
        No receiver serves more devices, or with priorities more value; None if that is not known.
    """

    receiver: ComplexArray
    active: MaskArray
    iterations: int
    stopped: Stopped = "converged"
    phases: ComplexArray | None = None
    upper_bound: float | None = None


@dataclass(frozen=True)
class Scheduler:
    """A registered algorithm.

    Parameters
    ----------
    name, summary, reference
        Its name, what it does in one sentence, and its source.
    parameters
        Its :class:`Parameters`.
    select
        (problem, parameters, context) → :class:`Selection`; the problem is of the kind that the
        algorithm is registered for.
    keeps_tolerance
        False only if it schedules devices whatever the error.
    uses_surface
        False only if it ignores the surface and uses the direct channels alone.
    symmetric
        Whether the result is independent of the order of the devices and of the seed.
    pace
        How long it takes, and how to stop it.
    proves
        Whether its schedules come with a bound.
    takes_priorities
        Whether it maximises the value of the set if the devices have priorities.
    max_devices, max_elements
        The largest K and, with a surface, M that it takes; None for any.
    estimate
        (parameters, N, K) → the longest seconds that a solve can take, beside
        :data:`OVERHEAD_SECONDS`; None for an algorithm that is too slow for the event loop.

        The number of steps depends on the channels, so an estimate must hold for the slowest. Its
        form is the cost that the algorithm states; its constants were fitted to bound the times of
        thousands of channels made to be slow (orthogonal, of rank one, in clusters, with
        priorities), on one core of 2.6 GHz. ``python -m benchmarks execution`` measures how close
        the slowest come.
    """

    name: str
    summary: str
    reference: str
    parameters: type[Parameters]
    select: Callable[[Any, Any, Context], Selection]
    keeps_tolerance: bool = True
    uses_surface: bool = True
    symmetric: bool = True
    pace: Pace = "short"
    proves: bool = False
    takes_priorities: bool = False
    max_devices: int | None = None
    max_elements: int | None = None
    estimate: Callable[[Any, int, int], float] | None = None

    def longest_seconds(self, parameters: Parameters, antennas: int, devices: int) -> float:
        """Return how long a solve with these parameters can take; infinity if not known."""
        if self.estimate is None:
            return math.inf
        return OVERHEAD_SECONDS + self.estimate(parameters, antennas, devices)

    def variants(self) -> Iterator[Parameters]:
        """Yield the defaults, then the defaults with each other choice of one parameter.

        Together these reach all of a scheduler's code, for compiling it ahead and for testing it.
        """
        yield self.parameters()
        for name, hint in get_type_hints(self.parameters, include_extras=True).items():
            if get_origin(hint) is Literal:
                default = getattr(self.parameters, name)
                for choice in get_args(hint):
                    if choice != default:
                        yield self.parameters(**{name: choice})


Rule = tuple[str, Callable[[Any], bool], str]
"""A parameter, a check of its value, and the check in words."""


def _rules(parameters: type) -> Iterator[Rule]:
    """Yield the bounds that the annotations of ``parameters`` state."""
    for name, hint in get_type_hints(parameters, include_extras=True).items():
        if get_origin(hint) is Literal:
            choices = get_args(hint)
            yield name, choices.__contains__, f"one of {', '.join(choices)}"
        if get_origin(hint) is not Annotated:
            continue
        for group in get_args(hint)[1:]:
            for bound in group if isinstance(group, GroupedMetadata) else (group,):
                if isinstance(bound, Gt):
                    yield name, partial(operator.lt, bound.gt), f"above {bound.gt}"
                elif isinstance(bound, Ge):
                    yield name, partial(operator.le, bound.ge), f"at least {bound.ge}"
                elif isinstance(bound, Lt):
                    yield name, partial(operator.gt, bound.lt), f"below {bound.lt}"
                elif isinstance(bound, Le):
                    yield name, partial(operator.ge, bound.le), f"at most {bound.le}"
