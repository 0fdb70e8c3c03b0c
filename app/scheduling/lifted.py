r"""The lifted problem of one round: C in place of :math:`cc^H`, its rank dropped.

:mod:`app.scheduling.kernels.lifted` states and solves it, :mod:`app.scheduling.conic` solves it by
general cone solvers; here it is set up for a problem, and its solutions are read. Devices that no
receiver serves, :math:`\|h_k\|^2 < q_k`, are left out.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from app.scheduling.conic import solve_conic
from app.scheduling.kernels.formulas import SERVED_TOLERANCE
from app.scheduling.kernels.gram import aligned_sum
from app.scheduling.kernels.lifted import FAILED, SOLVED, solve_lifted
from app.scheduling.problem import Problem
from app.scheduling.types import ComplexArray, IndexArray, RealArray

Solver = Literal["interior_point", "clarabel", "scs"]
"""Who solves the programmes: the compiled kernel, or one of those that come with cvxpy."""

MOST_DEVICES = 512
"""The largest K that algorithms on this problem take: a Newton step costs O(K³), uninterrupted."""

LARGEST_GAIN = 1e6
"""Channels whose gain exceeds the required one by more than this factor are shortened to it.

It asks more of the receiver than is needed, but only 1e-6 of its power, and keeps the numbers of
one programme within reach of its solver.
"""

GAPS = (1e-5, 1e-3)
"""How far from optimal a solution may be, where a device that gets nothing counts one.

The second is for a programme too ill-conditioned for the first.
"""

EQUAL = 1e-5
"""Eigenvalues of C this close, relative to the largest, count as equal: the gap blurs them."""


@dataclass(frozen=True, eq=False)
class Lifted:
    """A solution of the lifted problem.

    Parameters
    ----------
    receiver
        (N,) the best rank-one approximation of C: its principal eigenvector, of unit norm.
    shortfalls
        1 - a_kᴴCa_k: positive where C does not serve a device; the slack is its positive part.
    rank_excess
        tr C - ‖C‖₂, zero where C has rank one.
    """

    receiver: ComplexArray
    shortfalls: RealArray
    rank_excess: float

    def order(self) -> IndexArray:
        """Return the devices from the best served by C to the worst."""
        return np.argsort(self.shortfalls, kind="stable")


def servable_rows(problem: Problem) -> tuple[ComplexArray, IndexArray]:
    """Return the channels over the square root of their required gains, row by row.

    Returns
    -------
    (L, N) rows a_k, shortened to :data:`LARGEST_GAIN`, of those devices which some receiver serves;
    (L,) their indices.
    """
    scaled = (problem.channels / np.sqrt(problem.required_gains)).T
    gains = np.sum(np.abs(scaled) ** 2, axis=1)
    devices = np.flatnonzero(gains >= 1 - SERVED_TOLERANCE)
    shortened = np.sqrt(np.minimum(1.0, LARGEST_GAIN / gains[devices]))
    return np.ascontiguousarray(scaled[devices] * shortened[:, None]), devices


class LiftedProblem:
    """The lifted problem of those devices that can be served at all.

    Parameters
    ----------
    solver
        Who solves it.

    Attributes
    ----------
    devices
        Their indices; all arrays here follow their order.
    """

    devices: IndexArray

    def __init__(self, problem: Problem, solver: Solver) -> None:
        self._rows, self.devices = servable_rows(problem)
        self._solver: Solver = solver

    def solve(self, weights: RealArray, near: ComplexArray | None = None) -> Lifted | None:
        """Minimise the weighted slacks, plus 1 - cᴴCc for a receiver c ``near`` which to stay.

        Parameters
        ----------
        weights
            Of the slacks, at least zero; infinite where there must be none.
        near
            (N,) unit norm. 1 - cᴴCc is tr C - ‖C‖₂, linearised at ccᴴ.

        Returns
        -------
        None if there is no solution, or the solver did not find it.
        """
        antennas = self._rows.shape[1]
        linear = np.zeros((antennas, antennas), np.complex128)
        if near is not None:
            linear = np.eye(antennas) - np.outer(near, near.conj())
        matrix = self._minimiser(weights, linear)
        if matrix is None:
            return None
        values, vectors = np.linalg.eigh(matrix)
        receiver = self._principal(values, vectors, near)
        gains = np.sum((self._rows.conj() @ matrix) * self._rows, axis=1).real
        return Lifted(receiver, 1.0 - gains, 1.0 - float(values[-1]))

    def _principal(
        self, values: RealArray, vectors: ComplexArray, near: ComplexArray | None
    ) -> ComplexArray:
        """Return the principal eigenvector; of a repeated eigenvalue, the one closest to ``near``.

        Without one it is the closest to the sum of the channels with their phases aligned: any
        other choice would be an accident of the decomposition.
        """
        space = vectors[:, values >= values[-1] * (1 - EQUAL)]
        if space.shape[1] == 1:
            return vectors[:, -1]
        overlaps = space.conj().T @ (aligned_sum(self._rows) if near is None else near)
        if np.linalg.norm(overlaps) < EQUAL:
            return vectors[:, -1]
        projection: ComplexArray = space @ (overlaps / np.linalg.norm(overlaps))
        return projection

    def _minimiser(self, weights: RealArray, linear: ComplexArray) -> ComplexArray | None:
        if self._solver != "interior_point":
            return solve_conic(self._rows, weights, linear, self._solver)
        counted = weights > 0
        for gap in GAPS:
            try:
                status, matrix, _ = solve_lifted(self._rows[counted], weights[counted], linear, gap)
            except np.linalg.LinAlgError:
                continue
            if status != FAILED:
                return matrix if status == SOLVED else None
        return None
