r"""The lifted problem through cvxpy: the same programme, solved by a general cone solver.

It states the problem of :mod:`app.scheduling.kernels.lifted.solver` over a real matrix Y
of twice the size, with :math:`b_k = [\Re a_k;\ \Im a_k]` and :math:`b'_k = [-\Im a_k;\ \Re a_k]`:

.. math:: \min_{Y \succeq 0,\ s \ge 0} \langle \tilde B, Y\rangle + \sum_k w_k s_k
    \quad\text{s.t.}\quad \operatorname{tr} Y = 1,\quad
    1 - b_k^T Y b_k - b_k'^T Y b'_k \le s_k .

:math:`C = Y_{11} + Y_{22} + j(Y_{21} - Y_{12})` then has the same gains, trace and cost. Everything
that changes from one programme to the next is a parameter (cvxpy's DPP), so cvxpy compiles two
programmes per shape, with slacks and without, once each. Leaving devices out keeps the shape.

The solver's status is not trusted: C is made positive semidefinite with unit trace here, however
accurate it is said to be, and a solution that must have no slacks is checked to have none.
"""

import warnings
from functools import lru_cache
from typing import Any

import numpy as np

from app.scheduling.any_problem import InvalidProblemError
from app.scheduling.types import ComplexArray, RealArray

MAX_COEFFICIENTS = 200_000
"""Limit on the coefficients of the constraints, 4KN²: beyond it a programme takes minutes and
gigabytes."""

INFEASIBILITY = 1e-4
"""The largest slack of a solution that must have none."""

_ATTEMPTS: dict[str, tuple[dict[str, Any], ...]] = {
    "clarabel": ({}, {"equilibrate_enable": False}),
    "scs": ({"eps": 1e-7},),
}
"""Options of each solver, in the order in which they are tried until one does not fail.

Clarabel's defaults are accurate, SCS's are not. Now and then Clarabel's first step fails on a
harmless programme; then it succeeds without rescaling it.
"""


class SolverFailedError(Exception):
    """A solver found neither a solution nor that there is none."""


def solve_conic(
    rows: ComplexArray, weights: RealArray, linear: ComplexArray, solver: str
) -> ComplexArray | None:
    """Solve the lifted problem.

    Parameters
    ----------
    rows
        (K, N) channels a_k.
    weights
        (K,) of the slacks: all finite, or each infinite (no slack) or zero (left out).
    linear
        (N, N) Hermitian B.
    solver
        ``clarabel`` or ``scs``.

    Returns
    -------
    (N, N) C, positive semidefinite with unit trace; None if the solver says that none exists.

    Raises
    ------
    InvalidProblemError
        There are too many coefficients for a general solver.
    SolverFailedError
        It found neither a solution nor that there is none.
    """
    devices, antennas = rows.shape
    if 4 * devices * antennas**2 > MAX_COEFFICIENTS:
        raise InvalidProblemError(
            "algorithm",
            f"solver {solver} takes at most {MAX_COEFFICIENTS // (4 * antennas**2)} devices at "
            f"{antennas} antennas, not {devices}; interior_point takes more",
        )
    hard = bool(np.isinf(weights).any())
    programme = _Programme.of_shape(devices, antennas, hard)
    if hard:
        weights = np.isinf(weights).astype(np.float64)
    doubled = programme.solve(_gains(rows), weights, _doubled(linear), solver)
    if doubled is None:
        return None
    matrix = _feasible(doubled)
    if hard:
        gains = np.sum((rows.conj() @ matrix) * rows, axis=1).real
        if not np.all(gains >= weights - INFEASIBILITY):
            raise SolverFailedError
    return matrix


class _Programme:
    """The programme of one shape, compiled at its first solve.

    Parameters
    ----------
    hard
        Whether gains must reach ``weights``, zero or one; otherwise those weigh the slacks.
    """

    def __init__(self, devices: int, antennas: int, hard: bool) -> None:
        # Imported here because it takes a second, and only the solver processes need it.
        import cvxpy

        size = 2 * antennas
        self._matrix = cvxpy.Variable((size, size), PSD=True)
        entries = cvxpy.vec(self._matrix, order="C")
        self._gains = cvxpy.Parameter((devices, size**2))
        self._weights = cvxpy.Parameter(devices, nonneg=True)
        self._linear = cvxpy.Parameter(size**2)
        cost = self._linear @ entries
        constraints = [cvxpy.trace(self._matrix) == 1]
        if hard:
            constraints.append(self._gains @ entries >= self._weights)
        else:
            slacks = cvxpy.Variable(devices, nonneg=True)
            constraints.append(self._gains @ entries + slacks >= 1)
            cost += self._weights @ slacks
        self._problem = cvxpy.Problem(cvxpy.Minimize(cost), constraints)
        self._failure = cvxpy.SolverError

    @staticmethod
    @lru_cache(maxsize=64)
    def of_shape(devices: int, antennas: int, hard: bool) -> "_Programme":
        """Return the programme of this shape, built once."""
        return _Programme(devices, antennas, hard)

    def solve(
        self, gains: RealArray, weights: RealArray, linear: RealArray, solver: str
    ) -> RealArray | None:
        """Return (2N, 2N) Y as the solver leaves it, or None if it says that there is none."""
        self._gains.value, self._weights.value, self._linear.value = gains, weights, linear
        for options in _ATTEMPTS[solver]:
            with warnings.catch_warnings():
                # About inaccurate solutions: the caller makes them feasible.
                warnings.simplefilter("ignore")
                try:
                    # From scratch: the answer must not depend on what was solved before.
                    self._problem.solve(solver=solver.upper(), warm_start=False, **options)
                except self._failure:
                    continue
            value: RealArray | None = self._matrix.value
            if value is None and "infeasible" not in str(self._problem.status):
                continue
            return value
        raise SolverFailedError


def _gains(rows: ComplexArray) -> RealArray:
    """Return (K, 4N²) coefficients of Y in the gains."""
    first = np.concatenate([rows.real, rows.imag], axis=1)
    second = np.concatenate([-rows.imag, rows.real], axis=1)
    pairs = first[:, :, None] * first[:, None, :] + second[:, :, None] * second[:, None, :]
    return np.asarray(pairs.reshape(rows.shape[0], -1))


def _doubled(linear: ComplexArray) -> RealArray:
    """Return (4N²,) coefficients of Y in the cost."""
    return np.block([[linear.real, -linear.imag], [linear.imag, linear.real]]).ravel()


def _feasible(doubled: RealArray) -> ComplexArray:
    """Return C for Y, with negative eigenvalues set to zero and the trace scaled to one."""
    if not np.isfinite(doubled).all():
        raise SolverFailedError
    size = doubled.shape[0] // 2
    real = doubled[:size, :size] + doubled[size:, size:]
    imaginary = doubled[size:, :size] - doubled[:size, size:]
    matrix = real + 1j * imaginary
    values, vectors = np.linalg.eigh(matrix + matrix.conj().T)
    values = np.maximum(values, 0.0)
    if values[-1] == 0.0:
        raise SolverFailedError
    feasible: ComplexArray = (vectors * (values / values.sum())) @ vectors.conj().T
    return feasible
