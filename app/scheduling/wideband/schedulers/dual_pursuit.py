r"""Dual pursuit over a band: drop the devices whose multipliers, summed over the band, are largest.

With :math:`a_{k,f} = h_{k,f}/\sqrt{q_k}` and receivers :math:`w_f` such that
:math:`|a_{k,f}^H w_f| \ge 1` for all k in S, subcarrier f has the error
:math:`E_f = \varepsilon\|w_f\|^2`. So the criterion *mean* asks for the least norm of all
:math:`w_f` together, in :math:`C^{NF}` with F constraints per device, and *each* for F least norms
that share the set. The search is that of :mod:`app.scheduling.schedulers.dual_pursuit`, with the
multipliers of a device summed over the subcarriers
(:mod:`app.scheduling.kernels.wideband.descent`).

The last round's receivers, if given, count as they are: the result never serves less. The devices
that all subcarriers serve when each is scheduled alone
(:mod:`app.scheduling.wideband.intersecting`, with its default parameters) are one more start, if
they are worth more than what was found: so the result is never worth less than they are.

The result depends on the seed. It is locally optimal, not provably the best.

Cost: F times that of the search on one subcarrier. At the deadline it returns the best set so far.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Interval

from app.scheduling.kernels.wideband.search import wideband_pursuit
from app.scheduling.polishing import QUICK_TOLERANCE, quick_visits
from app.scheduling.pursuit import STARTS, seed_of
from app.scheduling.scheduler import (
    Context,
    DeadlineExceededError,
    Parameters,
    Scheduler,
    Selection,
)
from app.scheduling.schedulers.dual_pursuit import DualPursuitParameters
from app.scheduling.types import ComplexArray, MaskArray
from app.scheduling.wideband.intersecting import intersect
from app.scheduling.wideband.polishing import polish
from app.scheduling.wideband.problem import WidebandProblem

_FEW, _MANY = 8, 20
"""Between so many devices, the fewer there are, the more starts are made."""


@dataclass(frozen=True)
class WidebandDualPursuitParameters(Parameters):
    """Parameters of dual pursuit over a band.

    Parameters
    ----------
    starts
        Number of receivers to start from on one subcarrier, for 125 devices that can be served
        alone: more starts find more devices, in proportionally more time. For other numbers of
        devices, inversely proportional; for 50 and fewer, two and a half times as many. With F
        subcarriers, a √F-th of them: starts differ less where more subcarriers average. With K
        devices, 8 to 20, (20/K)² times as many.
    """

    starts: Annotated[int, Interval(ge=1, le=10_000)] = STARTS


def select(
    problem: WidebandProblem, parameters: WidebandDualPursuitParameters, context: Context
) -> Selection:
    """Search, compare with the warm start and the intersection, then polish."""
    # Few devices are quick to search, and one more is a large share of them.
    starts = round(parameters.starts * (_MANY / np.clip(problem.devices, _FEW, _MANY)) ** 2)
    receivers, active, rounds = _search(problem, starts, context, context.warm_start)
    if context.warm_start is not None:
        served = problem.with_joined(context.warm_start, np.zeros_like(active))
        if problem.worth(active) < problem.worth(served):
            receivers, active = context.warm_start, served
    with suppress(DeadlineExceededError):
        common = intersect(
            problem,
            DualPursuitParameters(),
            context,
            beyond=problem.worth(active),
            order=np.argsort(-problem.costs(receivers)[:, active].max(axis=1, initial=0.0)),
        )
        if common is not None:
            receivers, active, more = _search(problem, 1, context, common.receiver)
            rounds += common.iterations + more
            if problem.worth(active) < problem.worth(common.active):
                receivers, active = common.receiver, common.active
    if not active.any():
        if context.stop[0]:
            return Selection(*problem.easiest(), rounds, "deadline")
        return Selection(receivers, active, rounds)
    receivers, active = polish(
        problem,
        receivers,
        active,
        context.stop,
        tolerance=QUICK_TOLERANCE,
        most_visits=quick_visits(int(active.sum())),
    )
    return Selection(receivers, active, rounds, context.stopped)


def _search(
    problem: WidebandProblem, starts: int, context: Context, start: ComplexArray | None
) -> tuple[ComplexArray, MaskArray, int]:
    """Return receivers (F, N), the devices that they serve (K,), and rounds."""
    # A copy, because the kernel is compiled for writable arrays.
    given = np.zeros((0, 0), np.complex128) if start is None else np.array(start)
    return wideband_pursuit(
        problem.channels,
        np.sqrt(problem.required_gains),
        problem.values,
        problem.each,
        given,
        starts,
        seed_of(context.seed),
        context.stop,
    )


SCHEDULERS = (
    Scheduler(
        name="dual_pursuit",
        summary="Drops the devices with the largest multipliers of least-norm receivers, summed "
        "over the subcarriers, from several starts, and polishes the result.",
        reference="Coordinate ascent on the dual of single-group multicast beamforming, with "
        "admission control, on every subcarrier",
        parameters=WidebandDualPursuitParameters,
        select=select,
        symmetric=False,
        pace="anytime",
        takes_priorities=True,
    ),
)
