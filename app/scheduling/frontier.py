r"""The frontier: for each number of devices that can be served, the schedule of the least error.

More devices cost more error. Dual pursuit (:mod:`app.scheduling.schedulers.dual_pursuit`) answers
for one tolerance; this is its search for all tolerances at once.

paths
    From each of several starts, drop devices one by one from all of them. Every receiver on the
    way is compared with the best known for every number of devices; a set that cannot do better
    than that is left at once.
rising tolerance
    For n = 2, 3, …: 0.1 % below the least tolerance known for n devices, start at the receiver of
    n - 1 and kick as dual pursuit does, until a few kicks in a row have found no better one. For
    more than 20 devices, climb a soft count of served devices there first, as dual pursuit does.
polish
    Each receiver is replaced by the one of the least error for its set.

Points that another beats, with as many devices or more for no more error, are left out.

With priorities the value :math:`\sum_{k\in S} v_k` takes the place of the number of devices. Sets
of few but valuable devices are then found by a second search, for :data:`VALUES` values in place of
the numbers 2, 3, …; the points of both are compared. So for every point that would
be found without priorities there is one with at least its value at no more error.

If some devices are required, every point has all of them. The search is then for the values that
any number of others add to theirs, and the first point is that of the required devices alone.

Cost: 7 to 12 times one dual pursuit for K = 20, N = 6 (``python -m experiments.studies frontier``).
It grows as K times a dual pursuit until K reaches 100; beyond, there is a point for every K/100
devices. With priorities it is two to three times that
(``python -m experiments.studies frontier_priorities``).
"""

import math
from typing import NamedTuple

import numpy as np

from app.scheduling.any_problem import AnyProblem
from app.scheduling.kernels.dual.frontier import frontier_pursuit
from app.scheduling.kernels.formulas import SERVED_TOLERANCE
from app.scheduling.plain import answer, least_tolerance
from app.scheduling.problem import LARGEST, Problem
from app.scheduling.pursuit import seed_of, start_of
from app.scheduling.schedule import Schedule, Stopped
from app.scheduling.scheduler import DeadlineExceededError, Selection
from app.scheduling.schedulers.dual_pursuit import DualPursuitParameters
from app.scheduling.spec import SolveSpec
from app.scheduling.types import ComplexArray, IndexArray, MaskArray, RealArray

COUNTS = 100
"""Most set sizes searched; with more devices, sizes are spaced out."""

VALUES = 100
"""Values that are searched for with priorities: half of them evenly spaced, half in proportion."""

_SERVED_AT = 1 + SERVED_TOLERANCE
"""A point's tolerance over the least one that serves its devices, for rounding."""

_NOBODY = np.zeros(0, np.bool_)

_ENTRIES_AFTER_STOP = 1_000_000
"""Channel entries, N·K for each point, that are processed after the deadline."""

PARTICIPATION = 30.0
"""Default weight ρ of missing devices against noise; learning hardly changes from 10 to 100."""


def most_points(devices: int, *, preferring: bool = False) -> int:
    """Return how many points the frontier of so many devices has at most.

    Parameters
    ----------
    preferring
        Whether they have priorities.
    """
    return min(devices, COUNTS) + (VALUES if preferring else 0)


class Point(NamedTuple):
    """One schedule, and the least tolerance γ that serves its devices."""

    gamma: float
    schedule: Schedule

    @property
    def error(self) -> float:
        """Its computation error; infinite without any device."""
        error = self.schedule.computation_error
        return math.inf if error is None else error


class Frontier(NamedTuple):
    """Schedules with rising number of devices (or value) and rising error.

    Parameters
    ----------
    stopped
        ``deadline`` if the search was stopped early: then better points may exist.
    weights
        (K,) φ of all devices.
    """

    points: tuple[Point, ...]
    stopped: Stopped
    weights: RealArray

    def recommended(self, participation: float = PARTICIPATION) -> int | None:
        r"""Return the index of the point that is expected to harm learning least; None without any.

        After a round with the devices S, the mean of the updates errs by
        :math:`E/(2\Phi_S^2) + \rho(\Phi/\Phi_S - 1)/K`: noise, half of it because the entries are
        real, and the devices that are missing. :math:`\Phi_S` is the sum of their weights,
        :math:`\Phi` that of all K.

        Parameters
        ----------
        participation
            ρ, how much devices that are missing matter in comparison with noise.
        """

        def harm(index: int) -> float:
            schedule = self.points[index].schedule
            present = float(self.weights[schedule.active].sum())
            missing = float(self.weights.sum()) / present - 1
            return (
                self.points[index].error / (2 * present**2)
                + participation * missing / self.weights.size
            )

        return min(range(len(self.points)), key=harm, default=None)


def find_frontier(
    problem: AnyProblem,
    spec: SolveSpec,
    stop: MaskArray | None = None,
    min_devices: int = 1,
) -> Frontier:
    """Return the schedules that no other beats in both the number of devices and the error.

    Parameters
    ----------
    problem
        One that ``spec.require_suited`` has accepted; its tolerance is the largest of interest.
    spec
        Its scheduler must be dual pursuit.
    stop
        (1,) mask, set from outside when the deadline has passed.
    min_devices
        Points with fewer devices are left out.

    Raises
    ------
    DeadlineExceededError
        ``stop`` was set before any point was found.
    """
    stated, problem, parameters = problem, problem.standard, spec.parameters
    if not (isinstance(problem, Problem) and isinstance(parameters, DualPursuitParameters)):
        raise TypeError("a frontier is that of a plain problem, found by dual_pursuit")
    stop = np.zeros(1, np.bool_) if stop is None else stop
    given = start_of(stated.to_standard(spec.warm_start))
    required = stated.to_standard_set(stated.required)
    found: list[tuple[float, Point]] = []
    for values, targets in _searches(problem, required):
        gammas, receivers, rounds = frontier_pursuit(
            problem.channels,
            problem.weights,
            values,
            targets,
            problem.gamma,
            given,
            parameters.starts,
            seed_of(spec.seed),
            stop,
        )
        if stop[0] and not found and not np.isfinite(gammas[0]):
            raise DeadlineExceededError
        stopped: Stopped = "deadline" if stop[0] else "converged"
        if required.size:
            gammas, receivers = _with_required_alone(problem, required, gammas, receivers, stop)
        # Of several entries with the same tolerance, the last has the most value.
        entries = np.flatnonzero(
            (gammas * _SERVED_AT <= problem.gamma) & (gammas < np.append(gammas[1:], np.inf))
        )
        if stop[0]:
            # After the deadline, return only some points of a large problem.
            entries = entries[:: -1 - entries.size * problem.entries // _ENTRIES_AFTER_STOP]
        for entry in entries:
            gamma = max(float(gammas[entry]) * _SERVED_AT, 1 / LARGEST)
            selection = Selection(receivers[entry], _NOBODY, rounds, stopped)
            gamma, schedule = _answered(problem, gamma, selection, spec, stop)
            if not np.isin(required, schedule.active).all():
                continue
            if schedule.active.size >= min_devices and schedule.feasible:
                point = Point(gamma, stated.restored(schedule, spec.coordination))
                found.append((problem.worth(schedule.active), point))
    return Frontier(_unbeaten(found), stopped, stated.weights)


def _unbeaten(found: list[tuple[float, Point]]) -> tuple[Point, ...]:
    """Return the points that no other beats, of points with their values; by rising value."""
    kept: list[Point] = []
    # From the most value down: each with less must have less error than all before.
    for _, point in sorted(found, key=lambda each: (-each[0], each[1].error)):
        if not kept or point.error < kept[-1].error:
            kept.append(point)
    return tuple(reversed(kept))


def _searches(problem: Problem, required: IndexArray) -> list[tuple[RealArray, RealArray]]:
    """Return the values (K,) of the devices and the targets (P,), for one search or two."""
    devices, values = problem.devices, problem.values
    if required.size:
        least, others = float(values[required].sum()), np.delete(values, required)
        more = _targets(others) if others.size else others
        return [(values, least + np.append(0.0, more))]
    searches = [(np.ones(devices), _targets(np.ones(devices)))]
    if (values != values[0]).any():
        searches.append((values, _targets(values)))
    return searches


def _targets(values: RealArray) -> RealArray:
    """Return the values (P,) to search for among sets of devices with these values."""
    total = float(values.sum())
    if (values == values[0]).all():
        return np.linspace(0.0, total, most_points(values.size) + 1)[1:]
    evenly = np.linspace(0.0, total, VALUES // 2 + 1)[1:]
    proportionally = np.geomspace(float(values.min()), total, VALUES // 2)
    return np.union1d(evenly, proportionally)


def _with_required_alone(
    problem: Problem,
    required: IndexArray,
    gammas: RealArray,
    receivers: ComplexArray,
    stop: MaskArray,
) -> tuple[RealArray, ComplexArray]:
    """Return the entries, the first with the least error for the required devices alone."""
    receiver, _, gamma = least_tolerance(problem, required, stop)
    if gamma < gammas[0]:
        gammas, receivers = gammas.copy(), receivers.copy()
        gammas[0], receivers[0] = gamma, receiver
    return gammas, receivers


def _answered(
    problem: Problem, gamma: float, selection: Selection, spec: SolveSpec, stop: MaskArray
) -> tuple[float, Schedule]:
    """Return the schedule of everyone whom the receiver serves at γ, and the γ it needs."""
    if not problem.uncertain:
        own = problem.with_gamma(gamma)
        selection = selection._replace(active=own.served(selection.receiver))
        return gamma, answer(own, selection, spec, stop)
    # Who is served if the estimates are right; then the tolerance that holds if they are not.
    served = problem.exact(0.0).with_gamma(gamma).served(selection.receiver)
    schedule = answer(problem, selection._replace(active=served), spec, stop)
    worst = (schedule.computation_error or 0.0) * problem.power / problem.noise_variance
    own = problem.with_gamma(min(max(worst * _SERVED_AT, 1 / LARGEST), problem.gamma))
    return own.gamma, answer(own, selection._replace(active=served), spec, stop)
