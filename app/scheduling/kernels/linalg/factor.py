r"""The factorisation :math:`\sigma I - A = L D L^H` of a Hermitian matrix, and solves with it.

It needs no pivoting, because it is only wanted where :math:`\sigma` lies above every eigenvalue.
"""

from app.scheduling.kernels.compile import compiled
from app.scheduling.types import ComplexArray

_SMALL = 16
"""Up to this size columns are eliminated one by one; beyond, four at a time."""


@compiled
def scaled(value: complex, factor: float) -> complex:
    """Complex times real; numba would compute a full complex product."""
    return complex(value.real * factor, value.imag * factor)


@compiled
def _eliminate(lower: ComplexArray, j: int, end: int) -> bool:
    """Divide column j by its pivot, and take it off the columns before ``end``.

    Row j above the diagonal keeps the conjugate of the undivided column, contiguous in memory.
    False if the pivot is not positive.
    """
    size = lower.shape[0]
    pivot = lower[j, j].real
    if not pivot > 0.0:
        return False
    reciprocal = 1.0 / pivot
    lower[j, j] = reciprocal
    for i in range(j + 1, size):
        lower[j, i] = lower[i, j].conjugate()
        lower[i, j] = scaled(lower[i, j], reciprocal)
    for i in range(j + 1, size):
        entry = lower[i, j]
        for k in range(j + 1, min(i + 1, end)):
            lower[i, k] -= entry * lower[j, k]
    return True


@compiled
def factor_below(matrix: ComplexArray, shift: float, lower: ComplexArray) -> bool:
    """Factor ``shift·I - matrix`` = L D Lᴴ into ``lower``; False if it is not positive definite.

    ``lower`` receives L below the diagonal and the reciprocal of D on it. Only the lower triangle
    of ``matrix`` is read, which may be ``lower`` itself.
    """
    size = matrix.shape[0]
    for i in range(size):
        for j in range(i):
            lower[i, j] = -matrix[i, j]
        lower[i, i] = shift - matrix[i, i].real
    j = 0
    while size - j > _SMALL:
        for k in range(j, j + 4):
            if not _eliminate(lower, k, j + 4):
                return False
        # The rest of the matrix is read and written once for all four.
        for i in range(j + 4, size):
            first, second = lower[i, j], lower[i, j + 1]
            third, fourth = lower[i, j + 2], lower[i, j + 3]
            for k in range(j + 4, i + 1):
                total = lower[i, k] - first * lower[j, k]
                total -= second * lower[j + 1, k]
                total -= third * lower[j + 2, k]
                lower[i, k] = total - fourth * lower[j + 3, k]
        j += 4
    while j < size:
        if not _eliminate(lower, j, size):
            return False
        j += 1
    return True


@compiled
def solve_factored(lower: ComplexArray, vector: ComplexArray) -> None:
    """Solve L D Lᴴ x = vector in place, with the factor of :func:`factor_below`."""
    size = vector.shape[0]
    for i in range(1, size):
        total = vector[i]
        for j in range(i):
            total -= lower[i, j] * vector[j]
        vector[i] = total
    for i in range(size):
        vector[i] = scaled(vector[i], lower[i, i].real)
    for i in range(size - 1, 0, -1):
        entry = vector[i]
        for j in range(i):
            vector[j] -= lower[i, j].conjugate() * entry
