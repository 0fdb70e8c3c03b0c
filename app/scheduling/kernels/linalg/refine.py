r"""The principal eigenvector from a vector that is already close, mostly with one factorisation.

For a unit vector x with Rayleigh quotient :math:`\rho = x^H A x`, take a shift
:math:`\sigma = \rho - \epsilon` just *below* the eigenvalue, and factor
:math:`M = \sigma I - A + \rho xx^H`. Success proves that A has at most one eigenvalue above
:math:`\sigma`, since a term of rank one can lift only one. With :math:`z = M^{-1}x`, solves with
:math:`\sigma I - A` cost no more than those with M,

.. math:: (\sigma I - A)^{-1}v = M^{-1}v + \frac{\rho\,z^H v}{1 - \rho\,x^H z}\,z ,

and multiply the unwanted components by :math:`(\lambda_1-\sigma)/(\sigma-\lambda_2)`, which for an
angle θ between x and the eigenvector is of the order of θ².

:mod:`.linalg.eigen` has the method for any other start.
"""

import math

from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.linalg.eigen import (
    MARGIN,
    RESIDUAL,
    Work,
    normalise,
    overlap,
    principal_eigenvector,
    rayleigh,
    trace_of,
)
from app.scheduling.kernels.linalg.factor import factor_below, scaled, solve_factored
from app.scheduling.types import ComplexArray

_MAX_CHECKS = 4

_SMALL = 8
"""Up to this size refining does not pay, because a factorisation costs little more than a solve."""

_SLOW = 0.25
"""Refining gives up where a solve leaves more than this share of the residual."""


@compiled
def refine(matrix: ComplexArray, vector: ComplexArray, work: Work) -> bool:
    """Replace the unit ``vector`` by the principal eigenvector; False if it is too far away.

    On success the eigenvalue is proven to be the largest and not to be repeated. Otherwise
    ``vector`` holds nothing of use. The phase of the result is arbitrary.
    """
    lower, product, start, solved, _ = work
    trace = trace_of(matrix)
    if not trace > 1e-200:
        return False
    quotient, residual = rayleigh(matrix, vector, product)
    shift = quotient - MARGIN * trace
    for i in range(vector.shape[0]):
        entry = scaled(vector[i], quotient)
        for j in range(i + 1):
            lower[i, j] = matrix[i, j] - entry * vector[j].conjugate()
    if not factor_below(lower, shift, lower):
        return False
    converged = RESIDUAL * trace
    if residual <= converged:
        return True
    start[:] = vector
    solve_factored(lower, vector)
    solved[:] = vector
    factor = quotient / (1.0 - quotient * overlap(start, solved).real)
    normalise(vector)
    steps = 1
    for _ in range(_MAX_CHECKS):
        previous = residual
        quotient, residual = rayleigh(matrix, vector, product)
        if residual <= converged:
            return quotient - residual > shift
        contraction = (residual / previous) ** (1.0 / steps)
        if not contraction < _SLOW:
            return False
        steps = math.ceil(math.log(converged / residual) / math.log(contraction))
        for _ in range(steps):
            share = factor * overlap(solved, vector)
            solve_factored(lower, vector)
            for i in range(vector.shape[0]):
                vector[i] += share * solved[i]
            normalise(vector)
    return False


@compiled
def principal_near(
    matrix: ComplexArray, vector: ComplexArray, guess: ComplexArray, work: Work
) -> None:
    """Replace ``vector`` as :func:`principal_eigenvector` does, in less time if ``guess`` is good.

    Parameters
    ----------
    guess
        (N,) unit norm, believed to be close to the result; replaced by the old ``vector``.
    """
    old = work.old
    old[:] = vector
    if vector.shape[0] > _SMALL and refine(matrix, guess, work):
        # In phase with the vector, like its projection.
        value = overlap(guess, vector)
        magnitude = math.sqrt(value.real * value.real + value.imag * value.imag)
        if magnitude > 0.0:
            value = scaled(value, 1.0 / magnitude)
            for i in range(guess.shape[0]):
                guess[i] *= value
        vector[:] = guess
    else:
        principal_eigenvector(matrix, vector, work)
    guess[:] = old
