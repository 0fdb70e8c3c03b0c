r"""Problems over a band: the devices coordinate on every subcarrier as they do on one.

On subcarrier f, :math:`c_f^H h_{k,f}\psi_{k,f} = \sqrt{\eta_f}\,\phi_k` with zero forcing, and
:math:`E_f` is the error of the coordinates of the model that it carries.
"""

import numpy as np

from app.scheduling.bounding import bounded
from app.scheduling.kernels.formulas import SERVED_TOLERANCE, broken_formula, coordinate
from app.scheduling.kind import Kind
from app.scheduling.plain import EXAMPLE
from app.scheduling.schedule import Method, Schedule
from app.scheduling.scheduler import Context, Selection
from app.scheduling.spec import SolveSpec
from app.scheduling.types import ComplexArray, MaskArray, RealArray
from app.scheduling.verification import VerificationError, is_empty, require_unbroken
from app.scheduling.wideband.cell import least_tolerance, with_required
from app.scheduling.wideband.polishing import polish
from app.scheduling.wideband.problem import WidebandProblem


def _answer(
    problem: WidebandProblem, selection: Selection, spec: SolveSpec, stop: MaskArray
) -> Schedule:
    """Polish the receivers if asked, coordinate the active devices, and verify the schedule."""
    resolved = problem.resolved(selection.receiver)
    selection = selection._replace(active=selection.active & resolved)
    selection, missing, gamma = with_required(problem, selection, spec, stop)
    if spec.polish:
        receivers, mask = polish(problem, selection.receiver, selection.active, stop)
        if not problem.resolved(receivers)[mask].all():
            receivers, mask = selection.receiver, selection.active
        stopped = "deadline" if stop[0] else selection.stopped
        selection = selection._replace(receiver=receivers, active=mask, stopped=stopped)
    schedule = _coordinated(problem, selection, spec.coordination)
    schedule = schedule._replace(required_missing=missing, required_gamma=gamma)
    # With wrong estimates, the tolerance is kept by the search over schedules like this one.
    if schedule.feasible or not problem.uncertain:
        _verify(problem, schedule, method=spec.coordination)
    return schedule


def _coordinated(problem: WidebandProblem, selection: Selection, method: Method) -> Schedule:
    subcarriers, devices = problem.subcarriers, problem.devices
    active = np.flatnonzero(selection.active)
    scalars = np.zeros((subcarriers, devices), np.complex128)
    ended = (selection.iterations, selection.stopped)
    if active.size == 0:
        return Schedule(False, active, None, None, None, scalars, *ended)
    receivers = np.empty(problem.receiver_shape, np.complex128)
    factors, errors, nominal = np.empty((3, subcarriers))
    for f in range(subcarriers):
        receivers[f], _, factors[f], errors[f], nominal[f], scalars[f], _ = coordinate(
            problem.channels[f],
            problem.weights,
            problem.required_gains,
            problem.errors,
            problem.power,
            problem.noise_variance,
            problem.max_error,
            selection.receiver[f],
            selection.active,
            method == "zero_forcing",
        )
    compared = _compared(problem, errors)
    return Schedule(
        not problem.uncertain or compared <= problem.max_error * (1 + SERVED_TOLERANCE),
        active,
        receivers,
        None,
        compared,
        scalars,
        *ended,
        power_factors=factors,
        computation_errors=errors,
        nominal_error=_compared(problem, nominal) if problem.uncertain else None,
    )


def _nominal_errors(
    problem: WidebandProblem, receivers: ComplexArray, factors: RealArray, schedule: Schedule
) -> RealArray:
    """Return (F,) the errors if the channel estimates are right."""
    responses = np.einsum("fn,fnk->fk", receivers.conj(), problem.channels)
    received = responses * schedule.transmit_scalars / np.sqrt(factors)[:, None]
    misses = np.abs(received - problem.weights)[:, schedule.active] ** 2
    return np.asarray(misses.sum(axis=1) + problem.noise_variance / factors)


def _compared(problem: WidebandProblem, errors: RealArray) -> float:
    """Return what the criterion compares with the tolerance."""
    return float(errors.max() if problem.each else errors.mean())


def _verify(
    problem: WidebandProblem, schedule: Schedule, *, method: Method = "zero_forcing"
) -> None:
    r"""Check a schedule against the formulas, using only the numbers of the problem.

    On every subcarrier the formulas of :func:`app.scheduling.verification.verify`, with the
    tolerance if the criterion is *each*; with *mean*,
    :math:`\frac1F\sum_f\max_{k\in S}\phi_k^2/(\gamma|h_{k,f}^H c_f|^2) \le 1`. With CSI errors, the
    tolerance of the worst errors instead.
    """
    if is_empty(schedule):
        return
    active, receivers = schedule.active, schedule.receiver
    if not np.isin(problem.required, active).all():
        raise VerificationError("a required device is not active")
    factors, errors = schedule.power_factors, schedule.computation_errors
    if receivers is None or factors is None or errors is None:
        raise VerificationError("active devices need a receiver on every subcarrier")
    required = problem.required_gains if problem.each else np.zeros(problem.devices)
    nominal = _nominal_errors(problem, receivers, factors, schedule)
    for f in range(problem.subcarriers):
        broken = broken_formula(
            problem.channels[f],
            problem.weights,
            required,
            problem.errors,
            problem.power,
            problem.noise_variance,
            problem.max_error if problem.each else np.inf,
            receivers[f],
            active,
            factors[f],
            errors[f],
            nominal[f],
            schedule.transmit_scalars[f],
            method == "zero_forcing",
        )
        require_unbroken(broken, feasible=schedule.feasible, keeps_tolerance=True)
    if problem.uncertain:
        if not _compared(problem, errors) <= problem.max_error * (1 + SERVED_TOLERANCE):
            raise VerificationError("the worst error over the subcarriers exceeds the tolerance")
        # A weight that is received exactly is wrong by rounding.
        rounding = np.sum((SERVED_TOLERANCE * problem.weights[active]) ** 2)
        stated, compared = schedule.nominal_error, _compared(problem, nominal)
        if stated is None or not np.isclose(stated, compared, SERVED_TOLERANCE, rounding):
            raise VerificationError("the nominal error must be that of the criterion")
    elif not problem.keeps(problem.costs(receivers)[:, active].max(axis=1)):
        raise VerificationError("the mean error over the subcarriers exceeds the tolerance")
    if schedule.computation_error != _compared(problem, errors):
        raise VerificationError("the computation error must be that of the criterion")


def _upper_bound(
    problem: WidebandProblem, schedule: Schedule, spec: SolveSpec, stop: MaskArray
) -> int:
    r"""Return a proven bound on how many devices any receivers serve.

    No more devices than can be served alone, and

    each
        A set is served on every subcarrier: the least of their own bounds.
    mean
        If the mean of the errors is within ε, the least of them is: a set is served on some
        subcarrier, so the largest of their own bounds.
    """
    alone = problem.required_gains / np.sum(np.abs(problem.channels) ** 2, axis=1).clip(1e-300)
    compared = alone.max(axis=0) if problem.each else alone.mean(axis=0)
    servable = int(np.sum(compared * (1 - 2 * SERVED_TOLERANCE) <= 1))
    served = schedule.active.size
    seconds = spec.bound_seconds / problem.subcarriers
    bound = servable if problem.each else 0
    for f in range(problem.subcarriers):
        # With the mean, a subcarrier need not serve the schedule's devices.
        known = served if problem.each else 0
        found = round(bounded(problem.subcarrier(f), known, Context(spec.seed, stop), seconds))
        bound = min(bound, found) if problem.each else max(bound, found)
        if bound <= served if problem.each else bound >= servable:
            break
    return min(bound, servable)


BAND = Kind(
    name="wideband",
    problem=WidebandProblem,
    schedulers="app.scheduling.wideband.schedulers",
    answer=_answer,
    verify=_verify,
    upper_bound=_upper_bound,
    least_tolerance=least_tolerance,
    example=WidebandProblem(EXAMPLE.channels[None], EXAMPLE.weights, gamma=1.0),
)
