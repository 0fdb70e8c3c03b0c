r"""Dual pursuit with a surface: one dual for the receiver and the phases, from several starts.

Near a receiver and phases, the gain that a device misses can come from either. Both are therefore
variables of one least-norm problem (:mod:`app.scheduling.kernels.surface.dual_search`), whose
multipliers say what each device costs with the phases tuned for it. From each start it

1. runs dual pursuit without tuning (:mod:`app.scheduling.schedulers.dual_pursuit`), which finds a
   good set for the current channels;
2. adds one to three devices that the set misses (a *kick*), preferably near misses but with some
   randomness; an eighth of them at first, then half as many after each failure. It moves the
   receiver and the phases for the larger set, and drops the devices with the largest multipliers
   until the rest is served. More devices, or as many with another receiver, are where the next kick
   begins. After a few failures in a row, it goes to the next start.

The starts are the phases given with the problem, those of Algorithm 2
(:mod:`app.scheduling.kernels.surface.algorithm_2`), and random ones. On a grid of phases, where
nothing can be turned by a small angle, a set is only grown
(:mod:`app.scheduling.irs.joint_search`), and the continuous solution, rounded to the grid, is one
more start.

The best schedule is kept, including the one without tuning and Algorithm 2's own (with its default
δ, for every policy), so there are never fewer devices than in either. Finally the level of the best
set is raised as far as possible, for the least computation error.

The result depends on the seed. It is locally optimal, not provably the best.

Cost: that of dual pursuit and Algorithm 2, and a few hundred rounds of O(MKN) per start. At the
deadline it returns the best schedule so far.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from annotated_types import Interval

from app.scheduling.irs.joint_search import JointSearch
from app.scheduling.irs.problem import IrsProblem
from app.scheduling.scheduler import Context, Parameters, Scheduler, Selection
from app.scheduling.types import ComplexArray


@dataclass(frozen=True)
class IrsDualPursuitParameters(Parameters):
    """Parameters of dual pursuit with joint tuning.

    Parameters
    ----------
    starts
        Number of sets of phases to start from: the given ones, Algorithm 2's, then random ones.
    """

    starts: Annotated[int, Interval(ge=2, le=1000)] = 2


def starts_of(
    problem: IrsProblem,
    parameters: IrsDualPursuitParameters,
    context: Context,
    search: JointSearch,
) -> Iterator[tuple[ComplexArray, ComplexArray | None]]:
    """Yield phases to start from, each with a receiver if one is known, until the search ends."""
    yield problem.start(), context.warm_start
    if not search.ended:
        yield search.algorithm_2()
    if not search.ended and problem.phase_bits is not None:
        free = select(replace(problem, phase_bits=None), parameters, context)
        search.iterations += free.iterations
        yield problem.grid.nearest(np.asarray(free.phases)), free.receiver
    rng = np.random.default_rng(context.seed)
    for _ in range(parameters.starts - 2):
        if search.ended:
            break
        phases = problem.start()
        phases[problem.order] = problem.grid.random(rng, problem.elements)
        yield phases, None


def select(
    problem: IrsProblem, parameters: IrsDualPursuitParameters, context: Context
) -> Selection:
    """Search from every start, then raise the level of the best set."""
    search = JointSearch(problem, context)
    if not problem.reflects:
        # Nothing to tune: return the schedule for the direct channels.
        found = search.untuned(problem.start(), context.warm_start)
        return found._replace(phases=problem.start())
    for phases, receiver in starts_of(problem, parameters, context, search):
        search.improve(search.untuned(phases, receiver).receiver, phases)
    if search.served.any() and not context.stop[0]:
        search.raise_level()
    return Selection(
        search.receiver, search.served, search.iterations, context.stopped, search.phases
    )


SCHEDULERS = (
    Scheduler(
        name="dual_pursuit",
        summary="Adds a few devices at a time to the schedules of dual pursuit and Algorithm 2, "
        "moves the receiver and the phases together for them, and drops those that cost most.",
        reference="Coordinate ascent on the dual of single-group multicast beamforming, with "
        "admission control and joint tuning",
        parameters=IrsDualPursuitParameters,
        select=select,
        symmetric=False,
        pace="anytime",
        takes_priorities=True,
    ),
)
