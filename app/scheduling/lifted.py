r"""The lifted problem of one round: C in place of :math:`cc^H`, its rank dropped.

:mod:`app.scheduling.kernels.lifted.solver` states and solves it, and
:mod:`app.scheduling.conic` solves it with general cone solvers. This module sets it up for a
problem and interprets its solutions. Devices that no receiver serves, :math:`\|h_k\|^2 < q_k`, are
left out.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from app.scheduling.conic import SolverFailedError, solve_conic
from app.scheduling.kernels.formulas import SERVED_TOLERANCE
from app.scheduling.kernels.lifted.solver import FAILED, SOLVED, solve_lifted
from app.scheduling.kernels.linalg.gram import aligned_sum
from app.scheduling.problem import Problem
from app.scheduling.types import ComplexArray, IndexArray, RealArray

Solver = Literal["interior_point", "clarabel", "scs"]
"""The solver: the compiled kernel, or one that comes with cvxpy."""

MAX_DEVICES = 512
"""Largest K of the algorithms that solve this problem: a Newton step of O(K³) cannot be stopped."""

LARGEST_GAIN = 1e6
"""Channels whose gain exceeds the required one by more than this factor are shortened to it.

This asks slightly more of the receiver than needed, at most 1e-6 of its power, and keeps the
programme well enough conditioned for its solver.
"""

GAPS = (1e-5, 1e-3)
"""How far from optimal a solution may be; a device with no gain at all counts as one.

The second is for programmes too ill-conditioned for the first.
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
    (L, N) rows a_k, shortened to :data:`LARGEST_GAIN`, of the devices that some receiver serves;
    (L,) their indices.
    """
    scaled = (problem.channels / np.sqrt(problem.required_gains)).T
    gains = np.sum(np.abs(scaled) ** 2, axis=1)
    devices = np.flatnonzero(gains >= 1 - SERVED_TOLERANCE)
    shortened = np.sqrt(np.minimum(1.0, LARGEST_GAIN / gains[devices]))
    return np.ascontiguousarray(scaled[devices] * shortened[:, None]), devices


class LiftedProblem:
    """The lifted problem of the devices that can be served at all.

    Parameters
    ----------
    solver
        Which solver to use.

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
        """Minimise the weighted slacks, plus 1 - cᴴCc to stay ``near`` a receiver c.

        Parameters
        ----------
        weights
            Weights of the slacks, at least zero; infinite where no slack is allowed.
        near
            (N,) unit norm. 1 - cᴴCc is tr C - ‖C‖₂, linearised at ccᴴ.

        Returns
        -------
        None if there is no solution.

        Raises
        ------
        SolverFailedError
            The solver found neither a solution nor that there is none.
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

        Without ``near``, it is the one closest to the sum of the channels with aligned phases: any
        other choice would depend on the decomposition.
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
        raise SolverFailedError

    def best_matched(self, problem: Problem) -> ComplexArray:
        """Return the matched filter, of one device, that serves the most value."""
        channels = problem.channels[:, self.devices]
        filters = (channels / np.linalg.norm(channels, axis=0)).T
        worth = [problem.worth(problem.served(receiver)) for receiver in filters]
        return np.ascontiguousarray(filters[int(np.argmax(worth))])
