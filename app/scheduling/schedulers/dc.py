r"""DC programming: the paper's near-optimal reference.

K. Yang, T. Jiang, Y. Shi, Z. Ding, *Federated Learning via Over-the-Air Computation*, IEEE
Transactions on Wireless Communications 19(3), 2020.

With C in place of :math:`cc^H` and slacks :math:`s_k \ge \operatorname{tr} C - h_k^H C h_k/q_k`,
it looks for the fewest nonzero slacks among all C of rank one. Both conditions are written as
differences of convex functions that vanish exactly where the condition holds:

- at most j slacks are nonzero: :math:`\|s\|_1` minus the sum of the j largest;
- C has rank one: :math:`\operatorname{tr} C - \|C\|_2`.

Linearising the subtracted term at the last solution leaves a semidefinite programme, and so on
until the objective stops falling. There are two steps:

1. j grows from zero until the sum of both differences is zero: then K - j devices are served.
2. The devices are sorted by their slacks there. The longest prefix that can be served is found by
   bisection, using only the difference for the rank and no slacks. An infeasible programme proves
   that no receiver serves the prefix.

After every programme, the principal eigenvector of C is tried as a receiver and the devices it
serves are counted; the best receiver seen is the answer. A difference therefore counts as zero when
that receiver serves as many devices as it should: no tolerance is needed, and no slack is trusted.

``solver`` chooses the solver. On K = 20, N = 6 the kernel of
:mod:`app.scheduling.kernels.lifted.solver` takes 0.5 ms per programme, Clarabel 7 ms, SCS
20 ms.

Which slacks are the largest is a discrete choice that can depend on the last bits: differently
compiled kernels may find schedules that differ by up to four devices for K = 60, N = 8.

Cost: 1 to about 2K programmes, each O(N³ + KN² + K²N + K³) times 20 to 40 Newton steps.
"""

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Interval

from app.scheduling.conic import SolverFailedError
from app.scheduling.lifted import MAX_DEVICES, Lifted, LiftedProblem, Solver
from app.scheduling.problem import Problem
from app.scheduling.scheduler import Context, Parameters, Scheduler, Selection
from app.scheduling.types import ComplexArray, IndexArray, MaskArray, RealArray


@dataclass(frozen=True)
class DcParameters(Parameters):
    """Parameters of DC programming.

    Parameters
    ----------
    tolerance
        The objective has converged when a programme lowers it by less.
    max_iterations
        Limit on programmes per number of dropped devices, and per prefix.
    solver
        A compiled interior-point method, or a general solver through cvxpy.
    """

    tolerance: Annotated[float, Interval(gt=0, lt=1)] = 1e-3
    max_iterations: Annotated[int, Interval(ge=1, le=1000)] = 30
    solver: Solver = "interior_point"


class _Search:
    """The two steps, and the best receiver seen on the way."""

    def __init__(self, problem: Problem, parameters: DcParameters) -> None:
        self._problem = problem
        self._parameters = parameters
        self._lifted = LiftedProblem(problem, parameters.solver)
        self.programmes = 0
        self.receiver: ComplexArray = np.zeros(problem.antennas, np.complex128)
        self.active: MaskArray = np.zeros(problem.devices, np.bool_)
        self.value = 0.0
        self._values = problem.values[self._lifted.devices]

    def run(self) -> None:
        """Take both steps."""
        if self._lifted.devices.size == 0:
            return
        try:
            relaxed = self._solve(self._values, None)
        except SolverFailedError:
            relaxed = None
        if relaxed is not None:
            self._search_prefix(self._sparsest(relaxed).order())
        if self.value == 0.0:
            # Every programme missed the devices that can only just be served.
            self._consider(self._lifted.best_matched(self._problem))

    def _sparsest(self, current: Lifted) -> Lifted:
        """Step 1: free more and more slacks, until the others vanish at rank one."""
        size = self._lifted.devices.size
        for kept in range(size, 0, -1):
            previous = math.inf
            for _ in range(self._parameters.max_iterations):
                members = current.order()[:kept]
                if self._reaches(members):
                    return current
                weights = np.zeros(size)
                weights[members] = self._values[members]
                try:
                    found = self._solve(weights, current.receiver)
                except SolverFailedError:
                    found = None
                if found is None:
                    break
                current = found
                members = current.order()[:kept]
                slacks = np.maximum(0.0, current.shortfalls[members])
                cost = float((self._values[members] * slacks).sum()) + current.rank_excess
                if cost > previous - self._parameters.tolerance:
                    break
                previous = cost
        return current

    def _search_prefix(self, order: IndexArray) -> None:
        """Step 2: find the longest prefix of ``order`` that can be served."""
        reached, unservable = 0, order.size + 1
        undecided: set[int] = set()
        while True:
            # A prefix of no more value than the best set need not be tried.
            while reached < order.size and self._reaches(order[: reached + 1]):
                reached += 1
            lengths = [n for n in range(reached + 1, unservable) if n not in undecided]
            if not lengths:
                return
            length = lengths[len(lengths) // 2]
            try:
                if self._serves(order[:length]):
                    reached = length
                else:
                    unservable = length
            except SolverFailedError:
                # That says nothing about longer prefixes.
                undecided.add(length)

    def _serves(self, members: IndexArray) -> bool:
        """Look for a receiver that serves all ``members``, by the difference for the rank."""
        weights = np.zeros(self._lifted.devices.size)
        weights[members] = math.inf
        near, previous = None, math.inf
        for _ in range(self._parameters.max_iterations):
            found = self._solve(weights, near)
            if found is None:
                return False
            # Serving others of as much value is just as good.
            if self._reaches(members):
                return True
            if found.rank_excess > previous - self._parameters.tolerance:
                return False
            near, previous = found.receiver, found.rank_excess
        return False

    def _solve(self, weights: RealArray, near: ComplexArray | None) -> Lifted | None:
        """Solve one programme, and consider its receiver."""
        self.programmes += 1
        found = self._lifted.solve(weights, near)
        if found is not None:
            self._consider(found.receiver)
        return found

    def _consider(self, receiver: ComplexArray) -> None:
        """Keep ``receiver`` if the devices it serves have more value than the best so far."""
        served = self._problem.served(receiver)
        value = float(self._values[served[self._lifted.devices]].sum())
        if value > self.value:
            self.receiver, self.active, self.value = receiver, served, value

    def _reaches(self, members: IndexArray) -> bool:
        """Whether the best set has at least the value of ``members``."""
        return self.value >= float(self._values[members].sum())


def select(problem: Problem, parameters: DcParameters, context: Context) -> Selection:
    """Run both steps."""
    search = _Search(problem, parameters)
    search.run()
    return Selection(search.receiver, search.active, search.programmes)


SCHEDULERS = (
    Scheduler(
        name="dc",
        summary="Sparse slacks and rank one as differences of convex functions, by semidefinite "
        "programmes.",
        reference="Yang et al., Federated Learning via Over-the-Air Computation, IEEE Transactions "
        "on Wireless Communications 19(3), 2020",
        parameters=DcParameters,
        select=select,
        # It is in exact arithmetic, but its discrete choices can depend on the last bits.
        symmetric=False,
        pace="slow",
        takes_priorities=True,
        max_devices=MAX_DEVICES,
    ),
)
