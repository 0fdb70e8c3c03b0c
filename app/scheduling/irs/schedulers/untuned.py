r"""Random phases and no surface: the baselines that tuning has to beat.

random_phases
    Every phase is drawn at random from the request's seed; then the devices are scheduled for
    the resulting channels.
no_irs
    The surface is ignored: the devices are scheduled for the direct channels :math:`H^0` alone.
    The phases returned are zero, so the schedule still refers to :math:`H(\mu)`.

Cost: that of the algorithm without a surface, and O(MKN) for the channel.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from app.scheduling.irs.problem import IrsProblem
from app.scheduling.problem import Problem
from app.scheduling.scheduler import Context, Parameters, Scheduler, Selection
from app.scheduling.schedulers import dual_pursuit, matching_pursuit


@dataclass(frozen=True)
class UntunedParameters(Parameters):
    """Parameters of scheduling without tuning.

    Parameters
    ----------
    scheduled_by
        The algorithm that schedules, with its default parameters.
    """

    scheduled_by: Literal["matching_pursuit", "dual_pursuit"] = "matching_pursuit"


def select_random_phases(
    problem: IrsProblem, parameters: UntunedParameters, context: Context
) -> Selection:
    """Schedule for random phases."""
    phases = problem.start()
    rng = np.random.default_rng(context.seed)
    phases[problem.order] = problem.grid.random(rng, problem.elements)
    return _schedule(problem.tuned(phases), parameters, context)._replace(phases=phases)


def select_no_irs(
    problem: IrsProblem, parameters: UntunedParameters, context: Context
) -> Selection:
    """Schedule for the direct channels."""
    absent = np.zeros(problem.elements, np.complex128)
    found = _schedule(problem.without_surface, parameters, context)
    return found._replace(phases=absent)


def _schedule(problem: Problem, parameters: UntunedParameters, context: Context) -> Selection:
    if parameters.scheduled_by == "dual_pursuit":
        return dual_pursuit.select(problem, dual_pursuit.DualPursuitParameters(), context)
    return matching_pursuit.select(problem, matching_pursuit.MatchingPursuitParameters(), context)


SCHEDULERS = (
    Scheduler(
        name="random_phases",
        summary="Schedules for phases drawn at random.",
        reference="Lower bound of any tuning",
        parameters=UntunedParameters,
        select=select_random_phases,
        symmetric=False,
        pace="anytime",
    ),
    Scheduler(
        name="no_irs",
        summary="Schedules for the direct channels, as if there were no surface.",
        reference="The same network without a surface",
        parameters=UntunedParameters,
        select=select_no_irs,
        uses_surface=False,
        symmetric=False,
        pace="anytime",
    ),
)
