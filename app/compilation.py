"""Compiles the kernels ahead of the first request, by using each of them once.

``python -m app.compilation`` fills their cache, for set-up and image builds: then no start has to.
"""

from collections.abc import Collection
from typing import get_args

import numpy as np

from app.scheduling import (
    SCHEDULERS,
    Context,
    IrsProblem,
    Pace,
    Problem,
    SolveSpec,
    find_frontier,
    schedulers_of,
    solve,
)
from app.scheduling.bounding import prove

SMALL = Problem(np.array([[1.0, 0.2j], [0.3, 1.0]]), np.ones(2), gamma=1.0)
"""A round with two devices."""

_SMALL_IRS = IrsProblem(SMALL.channels, SMALL.channels, SMALL.channels, SMALL.weights, gamma=1.0)


def compile_kernels(paces: Collection[Pace] = get_args(Pace)) -> None:
    """Compile, or load from the cache, what the schedulers of these paces use."""
    start = Context(warm_start=np.ones(2, np.complex128))
    # With nothing known, so that it has to search.
    prove(SMALL, 0, start.stop)
    for problem in (SMALL, _SMALL_IRS):
        for scheduler in schedulers_of(problem).values():
            if scheduler.pace not in paces:
                continue
            for parameters in scheduler.variants():
                solve(problem, scheduler.name, parameters, start, coordination="mmse", polish=True)
    dual_pursuit = SCHEDULERS["dual_pursuit"]
    if dual_pursuit.pace in paces:
        find_frontier(SMALL, SolveSpec(dual_pursuit, dual_pursuit.parameters()))


if __name__ == "__main__":
    compile_kernels()
