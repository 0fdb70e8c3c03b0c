r"""Alternating DC programming on the receiver and the phases.

After Z. Wang et al., *Federated Learning via Intelligent Reflecting Surface*, IEEE Transactions on
Wireless Communications 21(2), 2022, as cited by Bereyhi et al. for joint scheduling and tuning.

receiver
    For the current phases, the two steps of :mod:`app.scheduling.schedulers.dc`.
phases
    For that receiver, the same idea again, to serve everyone or, if that gains no device, one
    more than before: V in place of :math:`(\mu, 1)(\mu, 1)^H`, and slacks for the devices
    that V does not serve. The largest slacks are free, and rank one is
    :math:`\operatorname{tr} V - \|V\|_2`, a difference of convex functions, linearised at the
    last solution. Each such programme is solved by :mod:`app.scheduling.irs.lifted_phases`, until
    the objective stops falling.

The phases are those of V's principal eigenvector (rounded to the grid, if there is one), and the
devices that the receiver then serves are counted; no slack is trusted. The two steps alternate as
long as the number of devices grows, and the best schedule seen is the answer.

Cost: a few runs of DC programming without a surface, and for each up to twice ``max_iterations``
programmes of O((M + K)³) times 30 to 60 Newton steps.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Interval

from app.scheduling.irs.lifted_phases import lifted_phases
from app.scheduling.irs.problem import IrsProblem
from app.scheduling.kernels.matching.algorithm_1 import principal_receiver
from app.scheduling.lifted import LARGEST_GAIN, MAX_DEVICES
from app.scheduling.scheduler import Context, Parameters, Scheduler, Selection
from app.scheduling.schedulers import dc
from app.scheduling.types import ComplexArray

MAX_ELEMENTS = 128
"""Largest M accepted: a Newton step of O((M + K)³) cannot be stopped."""

MAX_ALTERNATIONS = 20


@dataclass(frozen=True)
class IrsDcParameters(Parameters):
    """Parameters of alternating DC programming.

    Parameters
    ----------
    tolerance
        An objective has converged when a programme lowers it by less.
    max_iterations
        Limit on programmes in a row, for the receiver and for the phases.
    """

    tolerance: Annotated[float, Interval(gt=0, lt=1)] = 1e-3
    max_iterations: Annotated[int, Interval(ge=1, le=1000)] = 30


class _Alternation:
    """The best schedule so far, and the two steps in turn."""

    def __init__(self, problem: IrsProblem, parameters: IrsDcParameters, context: Context) -> None:
        self._problem = problem
        self._parameters = parameters
        self._context = context
        self.best = Selection(
            np.zeros(problem.antennas, np.complex128),
            np.zeros(problem.devices, np.bool_),
            iterations=0,
            phases=problem.start(),
        )
        self.programmes = 0

    def run(self) -> None:
        """Alternate as long as the number of devices grows."""
        phases = self._problem.start()
        for _ in range(MAX_ALTERNATIONS):
            served = int(self.best.active.sum())
            found = self._schedule(phases)
            self._keep(found)
            phases = self._tune(found)
            if int(self.best.active.sum()) <= served or not self._problem.reflects:
                return

    def _schedule(self, phases: ComplexArray) -> Selection:
        """Run DC programming for the receiver."""
        parameters = dc.DcParameters(self._parameters.tolerance, self._parameters.max_iterations)
        tuned = self._problem.tuned(phases)
        found = dc.select(tuned, parameters, self._context)
        self.programmes += found.iterations
        if not found.active.any():
            # Nobody is served yet: tune for the receiver with the largest total relative gain.
            scaled = tuned.channels / np.sqrt(tuned.required_gains)
            found = found._replace(receiver=principal_receiver(scaled))
        return found._replace(phases=phases)

    def _tune(self, found: Selection) -> ComplexArray:
        """Look for phases that let the receiver of ``found`` serve everyone, or one device more."""
        receiver = found.receiver / np.linalg.norm(found.receiver)
        rows = self._rows(receiver)
        phases = np.asarray(found.phases)
        before = int(self.best.active.sum())
        for kept in (rows.shape[0], min(int(found.active.sum()) + 1, rows.shape[0])):
            if kept > 0 and int(self.best.active.sum()) <= before:
                phases = self._serve(kept, rows, receiver, np.asarray(found.phases))
        return phases

    def _serve(
        self, kept: int, rows: ComplexArray, receiver: ComplexArray, phases: ComplexArray
    ) -> ComplexArray:
        """Look for phases with which ``kept`` of the ``rows`` are served, from ``phases``."""
        previous = np.inf
        near = np.append(phases, 1.0)
        order = np.argsort(-np.abs(rows.conj() @ near), kind="stable")
        for _ in range(self._parameters.max_iterations):
            self.programmes += 1
            matrix = lifted_phases(rows[order[:kept]], np.ones(kept), near)
            if matrix is None:
                break
            values, vectors = np.linalg.eigh(matrix)
            principal = vectors[:, -1]
            near = np.exp(1j * np.angle(principal))
            phases = self._problem.grid.nearest(principal[:-1] * principal[-1].conj())
            served = self._problem.tuned(phases).served(receiver)
            self._keep(Selection(receiver, served, 0, phases=phases))
            if served.sum() >= kept:
                break
            gains = np.sum((rows.conj() @ matrix) * rows, axis=1).real
            order = np.argsort(-gains, kind="stable")
            slacks = np.maximum(0.0, 1.0 - gains[order[:kept]])
            value = float(slacks.sum()) + 1.0 - float(values[-1]) / near.size
            if value > previous - self._parameters.tolerance:
                break
            previous = value
        return phases

    def _rows(self, receiver: ComplexArray) -> ComplexArray:
        """Return f_k relative to what device k needs, for devices that some phases would serve."""
        problem = self._problem
        through = receiver.conj() @ problem.irs_to_server
        rows = (
            np.concatenate(
                (
                    (through[:, None] * problem.devices_to_irs).conj(),
                    (receiver.conj() @ problem.direct).conj()[None, :],
                )
            ).T
            / np.sqrt(problem.required_gains)[:, None]
        )
        reach = np.abs(rows).sum(axis=1)
        shortened = np.minimum(1.0, np.sqrt(LARGEST_GAIN) / np.maximum(reach, 1e-300))
        return np.asarray((rows * shortened[:, None])[reach >= 1.0])

    def _keep(self, found: Selection) -> None:
        """Keep ``found`` if it serves more devices than the best so far."""
        if found.active.sum() > self.best.active.sum():
            self.best = found


def select(problem: IrsProblem, parameters: IrsDcParameters, context: Context) -> Selection:
    """Alternate."""
    alternation = _Alternation(problem, parameters, context)
    alternation.run()
    return alternation.best._replace(iterations=alternation.programmes)


SCHEDULERS = (
    Scheduler(
        name="dc",
        summary="Alternates between DC programmes for the receiver and for the phases.",
        reference="Wang et al., Federated Learning via Intelligent Reflecting Surface, IEEE "
        "Transactions on Wireless Communications 21(2), 2022",
        parameters=IrsDcParameters,
        select=select,
        # Its discrete choices can depend on the last bits.
        symmetric=False,
        pace="slow",
        max_devices=MAX_DEVICES,
        max_elements=MAX_ELEMENTS,
    ),
)
