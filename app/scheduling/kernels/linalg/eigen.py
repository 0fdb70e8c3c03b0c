r"""The principal eigenvector of a Hermitian, positive semidefinite matrix, from a warm start.

The method is inverse iteration with a certified shift. For a unit vector x with Rayleigh quotient
:math:`\rho = x^H A x` and residual :math:`r = \|Ax - \rho x\|`, try the shift
:math:`\sigma = \rho + r` and factor :math:`\sigma I - A = L D L^H`:

- the factorisation succeeds exactly when :math:`\sigma` lies above every eigenvalue, so success
  *proves* that the eigenvalue near :math:`\rho` is the largest one, and needs no pivoting;
- one solve multiplies the unwanted components by at most :math:`(\sigma-\lambda_1)/
  (\sigma-\lambda_2)`, so the residual falls quadratically, and faster once the gap is known.

If it fails there is a larger eigenvalue, and the shift is raised. A full decomposition is the
last resort, for a start without any component in the principal eigenspace.

If the largest eigenvalue is repeated, every step acts the same way on its whole eigenspace, so the
result is the normalised projection of the start onto it: the principal vector closest to x.

Only the lower triangle of ``matrix`` is read.
"""

import math
from typing import NamedTuple

import numpy as np

from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.linalg.factor import factor_below, scaled, solve_factored
from app.scheduling.types import ComplexArray

RESIDUAL = 1e-12
"""Converged when the residual is below this, relative to the trace."""

MARGIN = 1e-6
"""The shift stays this far from the Rayleigh quotient, relative to the trace."""

EQUAL = 1e-9
"""Eigenvalues this close to the largest, relative to it, count as equal to it."""

_MAX_STEPS = 40
_MAX_FAILURES = 8


class Work(NamedTuple):
    """Work space: ``lower`` (N, N), ``product``, ``start``, ``solved`` and ``old`` (N,)."""

    lower: ComplexArray
    product: ComplexArray
    start: ComplexArray
    solved: ComplexArray
    old: ComplexArray


@compiled
def work_space(size: int) -> Work:
    """Return work space for (size, size) matrices."""
    return Work(
        np.empty((size, size), np.complex128),
        np.empty(size, np.complex128),
        np.empty(size, np.complex128),
        np.empty(size, np.complex128),
        np.empty(size, np.complex128),
    )


@compiled
def squared_norm(vector: ComplexArray) -> float:
    """Return ‖vector‖²."""
    total = 0.0
    for i in range(vector.shape[0]):
        total += vector[i].real * vector[i].real + vector[i].imag * vector[i].imag
    return total


@compiled
def overlap(first: ComplexArray, second: ComplexArray) -> complex:
    """Return firstᴴ second."""
    total = 0j
    for i in range(first.shape[0]):
        total += first[i].conjugate() * second[i]
    return total


@compiled
def trace_of(matrix: ComplexArray) -> float:
    """Return the trace of a Hermitian matrix."""
    total = 0.0
    for i in range(matrix.shape[0]):
        total += matrix[i, i].real
    return total


@compiled
def normalise(vector: ComplexArray) -> None:
    """Scale ``vector`` to unit norm, in place."""
    factor = 1.0 / math.sqrt(squared_norm(vector))
    for i in range(vector.shape[0]):
        vector[i] = scaled(vector[i], factor)


@compiled
def rayleigh(
    matrix: ComplexArray, vector: ComplexArray, product: ComplexArray
) -> tuple[float, float]:
    """Return the Rayleigh quotient of a unit vector and the norm of its residual."""
    size = vector.shape[0]
    for i in range(size):
        entry = vector[i]
        total = scaled(entry, matrix[i, i].real)
        for j in range(i):
            total += matrix[i, j] * vector[j]
            product[j] += matrix[i, j].conjugate() * entry
        product[i] = total
    quotient = 0.0
    for i in range(size):
        quotient += product[i].real * vector[i].real + product[i].imag * vector[i].imag
    residual = 0.0
    for i in range(size):
        difference = product[i] - scaled(vector[i], quotient)
        residual += difference.real * difference.real + difference.imag * difference.imag
    return quotient, math.sqrt(residual)


@compiled
def _decompose(matrix: ComplexArray, vector: ComplexArray) -> None:
    """Project ``vector`` onto the principal eigenspace, found by a full decomposition."""
    size = vector.shape[0]
    values, vectors = np.linalg.eigh(matrix)
    projection = np.zeros(size, np.complex128)
    for j in range(size - 1, -1, -1):
        if values[j] < values[size - 1] * (1.0 - EQUAL):
            break
        overlap = 0j
        for i in range(size):
            overlap += vectors[i, j].conjugate() * vector[i]
        for i in range(size):
            projection[i] += overlap * vectors[i, j]
    if squared_norm(projection) < EQUAL * EQUAL:
        projection[:] = vectors[:, size - 1]
    vector[:] = projection
    normalise(vector)


@compiled
def principal_eigenvector(matrix: ComplexArray, vector: ComplexArray, work: Work) -> None:
    """Replace the unit start ``vector`` by the principal eigenvector of ``matrix``.

    Parameters
    ----------
    matrix
        (N, N) Hermitian, positive semidefinite; only the lower triangle is read. For a zero
        matrix every vector is principal and the start is kept.
    vector
        (N,) unit norm, replaced in place.
    """
    lower, product, _, _, _ = work
    size = vector.shape[0]
    trace = trace_of(matrix)
    if not trace > 1e-200:
        return
    # A factorisation costs N/6 times as much as a solve: reuse an expensive one.
    solves = 1 + size // 8
    failures = 0
    shift = math.inf
    previous = 0.0
    for step in range(_MAX_STEPS):
        quotient, residual = rayleigh(matrix, vector, product)
        converged = residual <= RESIDUAL * trace
        if converged and shift <= quotient + 2.0 * MARGIN * trace:
            return
        raised = residual
        if step > 0 and residual > 0.0:
            # The last contraction gives the gap to λ₂, and λ₁ - ρ ≤ r²/gap.
            contraction = previous / residual
            if solves > 1:
                contraction **= 1.0 / solves
            gap = (shift - quotient) * contraction
            raised = min(residual, 2.0 * residual * residual / gap)
        raised = max(raised, MARGIN * trace)
        shift = quotient + raised
        is_principal = True
        while not factor_below(matrix, shift, lower):
            is_principal = False
            failures += 1
            if failures > _MAX_FAILURES:
                _decompose(matrix, vector)
                return
            raised = max(4.0 * raised, residual)
            shift = quotient + raised
        if converged and is_principal:
            return
        for _ in range(solves):
            solve_factored(lower, vector)
            normalise(vector)
        previous = residual
    _decompose(matrix, vector)


def eigenvector_seconds(antennas: int) -> float:
    """Return how long one principal eigenvector can take: see ``Scheduler.estimate``."""
    return 0.3e-6 + 0.1e-6 * antennas + 0.15e-6 * antennas**2 + 0.5e-9 * antennas**3
