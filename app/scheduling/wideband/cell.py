"""Devices that must or must not take part in a round over a band, and those of the last round.

As in a cell on one subcarrier (:mod:`app.scheduling.cells.cell`): an excluded device has no
channel, a required one counts more than all others together, and a previous one a little more than
another. If a set still misses a required device, the search starts again from the receivers of the
least error for all of them.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from app.scheduling.cells.cell import device_values, require_consistent
from app.scheduling.plain import least_tolerance as least_tolerance_of_one
from app.scheduling.scheduler import Context, Selection
from app.scheduling.spec import SolveSpec
from app.scheduling.types import ComplexArray, IndexArray, MaskArray
from app.scheduling.wideband.problem import WidebandProblem


def state(
    problem: WidebandProblem, excluded: IndexArray, required: IndexArray, previous: IndexArray
) -> WidebandProblem:
    """Return ``problem`` with these devices, by index, as its excluded, required and previous ones.

    Raises
    ------
    InvalidProblemError
        The arguments contradict each other.
    """
    require_consistent(problem.devices, excluded, required)
    if not (excluded.size or required.size or previous.size):
        return problem
    channels = problem.channels.copy()
    channels[:, :, excluded] = 0
    values, _, _ = device_values(problem.stacked, required, previous)
    return replace(problem, channels=channels, priorities=values, required=required)


class WithRequired(NamedTuple):
    """A selection with all required devices, or with nobody.

    Parameters
    ----------
    missing
        The required devices that could not be served; None if all are.
    gamma
        The least tolerance found that serves all required devices; None if none is missing, or if
        none would serve them.
    """

    selection: Selection
    missing: IndexArray | None = None
    gamma: float | None = None


def with_required(
    problem: WidebandProblem, selection: Selection, spec: SolveSpec, stop: MaskArray
) -> WithRequired:
    """Return ``selection``, or another one if it misses a required device."""
    required = problem.required
    missing = required[~selection.active[required]]
    if missing.size == 0:
        return WithRequired(selection)
    receivers, _, gamma = least_tolerance(problem, required, stop)
    active = np.zeros(problem.devices, np.bool_)
    active[required] = True
    if not problem.keeps(problem.costs(receivers)[:, required].max(axis=1)):
        nobody = selection._replace(receiver=receivers, active=np.zeros_like(active))
        return WithRequired(nobody, missing, gamma if np.isfinite(gamma) else None)
    if not stop[0]:
        context = Context(spec.seed, stop, receivers)
        again = spec.scheduler.select(problem, spec.parameters, context)
        resolved = again.active & problem.resolved(again.receiver)
        if resolved[required].all():
            return WithRequired(again._replace(active=resolved))
    served = problem.with_joined(receivers, active)
    return WithRequired(selection._replace(receiver=receivers, active=served))


def least_tolerance(
    problem: WidebandProblem, members: IndexArray, stop: MaskArray
) -> tuple[ComplexArray, None, float]:
    """Return receivers (F, N) of the least error for ``members``, no phases, and the γ they need.

    The receivers of a set do not depend on each other, nor on the criterion.
    """
    alone = map(problem.subcarrier, range(problem.subcarriers))
    found = [least_tolerance_of_one(each, members, stop) for each in alone]
    gammas = np.array([gamma for _, _, gamma in found])
    receivers = np.stack([receiver for receiver, _, _ in found])
    return receivers, None, float(gammas.max() if problem.each else gammas.mean())
