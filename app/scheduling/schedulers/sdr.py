r"""Semidefinite relaxation: the paper's benchmark.

The lifted problem of :mod:`app.scheduling.schedulers.dc` with the :math:`\ell_1` norm of the slacks
in place of their number (weighted by the priorities, if there are any), and without the rank
condition: one semidefinite programme. It follows Example 1 of A. Bereyhi et al., *Matching Pursuit
Based Scheduling for Over-the-Air Federated Learning*, 2022, after K. Yang et al., *Federated
Learning via Over-the-Air Computation*, 2020.

The receiver is the principal eigenvector of the solution C, its best rank-one approximation. The
paper does not say how the schedule is then read off, which matters:

served
    All devices that the receiver serves. The default: scheduling a served device costs nothing.
prefix
    The devices sorted by how well C serves them, up to the first that the receiver does not serve.
    Closer to the paper's Figure 2, and like it far below ``served`` at moderate γ: there C spreads
    over several receivers, and which devices it serves best says little about any single one.

Mean number of devices, K = 20, N = 6, 40 channels with i.i.d. CN(0, 1) entries, unit weights:

======  ====  ====  ====  ====  =====  =====  =====  =====  =====  =====  =====  =====
γ [dB]  -10   -7    -5    -4    -1     0      2      5      8      10     11     15
======  ====  ====  ====  ====  =====  =====  =====  =====  =====  =====  =====  =====
served  0.35  1.05  3.65  5.40  11.15  12.85  17.20  18.85  19.40  19.68  19.70  19.90
prefix  0.35  1.05  3.35  3.30  4.15   5.88   10.60  15.43  17.35  18.65  18.70  19.40
paper   0.10        1.25               1.30          2.50          13.00         19.00
======  ====  ====  ====  ====  =====  =====  =====  =====  =====  =====  =====  =====

If many C have all slacks zero, an interior-point method returns one in the middle of them. A method
that returns another C gets another principal eigenvector and another schedule.

Cost: one programme, O(N³ + KN² + K²N + K³) times 20 to 40 Newton steps.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from app.scheduling.conic import SolverFailedError
from app.scheduling.lifted import MAX_DEVICES, Lifted, LiftedProblem, Solver
from app.scheduling.problem import Problem
from app.scheduling.scheduler import Context, Parameters, Scheduler, Selection
from app.scheduling.types import MaskArray


@dataclass(frozen=True)
class SdrParameters(Parameters):
    """Parameters of the semidefinite relaxation.

    Parameters
    ----------
    reading
        Whether to schedule all served devices, or only those before the first unserved one in the
        order of how well C serves them.
    solver
        A compiled interior-point method, or a general solver through cvxpy.
    """

    reading: Literal["served", "prefix"] = "served"
    solver: Solver = "interior_point"


def select(problem: Problem, parameters: SdrParameters, context: Context) -> Selection:
    """Solve the relaxation and round it."""
    lifted = LiftedProblem(problem, parameters.solver)
    if lifted.devices.size == 0:
        nobody = np.zeros(problem.devices, np.bool_)
        return Selection(np.zeros(problem.antennas, np.complex128), nobody, iterations=0)
    try:
        relaxed = lifted.solve(problem.values[lifted.devices])
    except SolverFailedError:
        relaxed = None
    if relaxed is None:
        # With slacks there always is a solution: the solver has failed.
        receiver = lifted.best_matched(problem)
        return Selection(receiver, problem.served(receiver), iterations=1, stopped="limit")
    active = problem.served(relaxed.receiver)
    if parameters.reading == "prefix":
        active = _prefix(lifted, relaxed, active)
    return Selection(relaxed.receiver, active, iterations=1)


def _prefix(lifted: LiftedProblem, relaxed: Lifted, served: MaskArray) -> MaskArray:
    """Return the devices that C serves best, up to the first that is not ``served``."""
    order = lifted.devices[relaxed.order()]
    prefix = np.zeros_like(served)
    prefix[order] = np.logical_and.accumulate(served[order])
    return prefix


SCHEDULERS = (
    Scheduler(
        name="sdr",
        summary="One semidefinite programme for the least total violation, rounded to rank one.",
        reference="Bereyhi et al., Matching Pursuit Based Scheduling for Over-the-Air Federated "
        "Learning, 2022, Example 1",
        parameters=SdrParameters,
        select=select,
        # Which of many solutions a general solver returns depends on the basis.
        symmetric=False,
        pace="slow",
        takes_priorities=True,
        max_devices=MAX_DEVICES,
    ),
)
