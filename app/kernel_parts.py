"""The kernels in parts that are compiled one by one: what every schedule uses, and each algorithm.

A part is compiled by using it once, or loaded if it is in numba's cache on disk.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from app.scheduling import (
    SCHEDULERS,
    AnyProblem,
    Context,
    IrsProblem,
    Pace,
    Parameters,
    Problem,
    Scheduler,
    SolveSpec,
    WidebandProblem,
    find_frontier,
    kind_with,
    schedulers_of,
    solve,
    solve_specified,
)
from app.scheduling.bounding import prove
from app.scheduling.scheduler import Selection

SMALL = Problem(np.array([[1.0, 0.2j], [0.3, 1.0]]), np.ones(2), gamma=1.0)
"""A round with two devices."""

_SMALL_IRS = IrsProblem(SMALL.channels, SMALL.channels, SMALL.channels, SMALL.weights, gamma=1.0)
_SMALL_BAND = WidebandProblem(SMALL.channels[None], SMALL.weights, gamma=1.0)

FORMULAS, BOUND, FRONTIER = "formulas", "bound", "frontier"
DEFAULT = "matching_pursuit"

FIRST = (FORMULAS, DEFAULT)
"""What the default algorithm needs. It is compiled before the others, which use much of it.

So nothing is compiled twice, and no two processes add a signature to the cache of one function at
the same time, which numba cannot do.
"""

_WANTED = (*FIRST, "dual_pursuit", "dc", BOUND)
"""In this order. The other slow algorithms follow: solver processes start when all are there."""


@dataclass(frozen=True)
class Part:
    """Kernels that are compiled together.

    Parameters
    ----------
    name
        The algorithm, with its kind in front unless that is plain; or what else uses them.
    use
        Uses each of them once.
    pace
        That of the algorithm: processes of their own load the slow ones. None if all need it.
    """

    name: str
    use: Callable[[], object]
    pace: Pace | None = None


def _parts() -> Iterator[Part]:
    dual_pursuit = SCHEDULERS["dual_pursuit"]
    frontier = SolveSpec(dual_pursuit, dual_pursuit.parameters())
    yield Part(FORMULAS, _use_formulas)
    # With nothing known, so that it has to search.
    yield Part(BOUND, lambda: prove(SMALL, 0, np.zeros(1, np.bool_)))
    yield Part(FRONTIER, lambda: find_frontier(SMALL, frontier), dual_pursuit.pace)
    for problem in (SMALL, _SMALL_IRS, _SMALL_BAND):
        for scheduler in schedulers_of(problem).values():
            yield Part(name_of(scheduler), _user(problem, scheduler), scheduler.pace)


def _use_formulas() -> None:
    """Coordinate, polish and verify a schedule that took no search."""

    def match_first(problem: Problem, parameters: Parameters, context: Context) -> Selection:
        receiver = problem.channels[:, 0].copy()
        return Selection(receiver, problem.served(receiver), iterations=1)

    given = Scheduler("given", "", "", Parameters, match_first)
    solve_specified(SMALL, SolveSpec(given, Parameters(), coordination="mmse", polish=True))


def _user(problem: AnyProblem, scheduler: Scheduler) -> Callable[[], None]:
    start = np.ones(problem.receiver_shape, np.complex128)

    def use() -> None:
        for parameters in scheduler.variants():
            if name_of(scheduler) == DEFAULT:
                # Its search alone: the rest is compiled at the same time.
                scheduler.select(problem, parameters, Context(warm_start=start))
            else:
                solve(
                    problem,
                    scheduler.name,
                    parameters,
                    warm_start=start,
                    coordination="mmse",
                    polish=True,
                )

    return use


def name_of(scheduler: Scheduler) -> str:
    """Return the name of the part that holds the kernels of ``scheduler``."""
    return f"{kind_with(scheduler).name}/{scheduler.name}".lstrip("/")


def needed(spec: SolveSpec) -> set[str]:
    """Return the names of the parts that a solve as ``spec`` says needs beside :data:`FIRST`."""
    return {name_of(spec.scheduler)} | ({BOUND} if spec.bound else set())


def _wanted_first(parts: Iterator[Part]) -> tuple[Part, ...]:
    rank = {name: place for place, name in enumerate(_WANTED)}

    def key(part: Part) -> tuple[int, bool]:
        return rank.get(part.name, len(rank)), part.pace != "slow"

    return tuple(sorted(parts, key=key))


PARTS = _wanted_first(_parts())
"""Every part, the most wanted first."""
