r"""The barrier of a node's multipliers, its derivatives, and where to start.

:mod:`.proof.bound` states the bound D and the matrix P. With
:math:`Y = P^{-1}` the Hessian of

.. math:: D/\mu - \log\det P - \sum\log(\text{distance of each multiplier to its bounds})

is made of :math:`a_i^H Y a_j` and :math:`a_i^H Y e_0`: no matrix is larger than the number of
multipliers, which is at most twice the number of devices.
"""

import math
from typing import NamedTuple

import numpy as np

from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.linalg.factor import factor_below
from app.scheduling.kernels.proof.bound import CUT, GAIN, NU, PATH, SIGMA, TAU, Terms
from app.scheduling.types import ComplexArray, RealArray

_REWIND = 10.0
"""Factor by which μ rises for a child; with less, the parent's multipliers are too far away."""

_ROOM = 0.1
"""Added to σ and τ where a parent's multipliers are not feasible for its child."""


class Space(NamedTuple):
    """Work space: P, its factor and its inverse Y (n, n)."""

    matrix: ComplexArray
    lower: ComplexArray
    inverse: ComplexArray


@compiled
def start_cold(rows: ComplexArray, sizes: RealArray, terms: Terms, y: RealArray) -> None:
    """Write a feasible point: τ and σ exceed what the other terms can take away."""
    count = terms.devices.shape[0]
    column = np.zeros(rows.shape[1], np.complex128)
    y[count + 1] = 1.0
    for i in range(count):
        k = terms.devices[i]
        y[i] = min(0.5, 0.5 * terms.most[i]) / sizes[k]
        if terms.square[i] < 0.0:
            y[count + 1] += y[i] * sizes[k]
        else:
            y[i] *= 0.1 * terms.square[i]
        for n in range(column.shape[0]):
            column[n] += terms.cross[i] * rows[k, n] * y[i]
    y[count] = 1.0
    for n in range(column.shape[0]):
        y[count] += column[n].real ** 2 + column[n].imag ** 2


@compiled
def start_warm(node: RealArray, scalars: RealArray, terms: Terms, y: RealArray) -> None:
    """Write the parent's multipliers; a new one starts at the barrier's parameter."""
    count = terms.devices.shape[0]
    for i in range(count):
        kind = GAIN if terms.square[i] < 0.0 else CUT
        known = node[kind, terms.devices[i]]
        y[i] = known if known > 0.0 else scalars[PATH]
    if terms.free:
        y[count - 1] = scalars[NU]
    y[count], y[count + 1] = scalars[SIGMA], scalars[TAU]


@compiled
def store_multipliers(
    terms: Terms, y: RealArray, path: float, node: RealArray, scalars: RealArray
) -> None:
    """Write the multipliers into the node, for its children to start from."""
    count = terms.devices.shape[0]
    node[GAIN] = 0.0
    node[CUT] = 0.0
    for i in range(count - terms.free):
        node[GAIN if terms.square[i] < 0.0 else CUT, terms.devices[i]] = y[i]
    scalars[NU] = y[count - 1] if terms.free else 0.0
    scalars[SIGMA], scalars[TAU], scalars[PATH] = y[count], y[count + 1], path


@compiled
def barrier(rows: ComplexArray, terms: Terms, y: RealArray, path: float, space: Space) -> float:
    """Return D/μ with its barrier, infinite outside; factor P."""
    count, antennas = terms.devices.shape[0], rows.shape[1]
    negative = space.matrix
    negative[:] = 0.0
    negative[0, 0] = -y[count]
    for n in range(antennas):
        negative[n + 1, n + 1] = -y[count + 1]
    value: float = (y[count] + y[count + 1]) / path
    for i in range(count):
        value += terms.cost[i] * y[i] / path
        if i < count - terms.free:
            if not 0.0 < y[i] < terms.most[i]:
                return math.inf
            value -= math.log(y[i])
            if terms.most[i] < math.inf:
                value -= math.log(terms.most[i] - y[i])
        k, weight = terms.devices[i], terms.square[i] * y[i]
        if weight != 0.0:
            for n in range(antennas):
                real, imaginary = weight * rows[k, n].real, weight * rows[k, n].imag
                for other in range(n + 1):
                    entry = rows[k, other]
                    negative[n + 1, other + 1] -= complex(
                        real * entry.real + imaginary * entry.imag,
                        imaginary * entry.real - real * entry.imag,
                    )
        if terms.cross[i] != 0.0:
            factor = complex(terms.cross[i].real * y[i], terms.cross[i].imag * y[i])
            for n in range(antennas):
                negative[n + 1, 0] -= factor * rows[k, n]
    if not factor_below(negative, 0.0, space.lower):
        return math.inf
    for n in range(antennas + 1):
        value += math.log(space.lower[n, n].real)
    return value


@compiled
def feasible_start(
    rows: ComplexArray,
    sizes: RealArray,
    terms: Terms,
    node: RealArray,
    scalars: RealArray,
    y: RealArray,
    space: Space,
) -> tuple[float, float]:
    """Write a feasible start, the parent's if possible, and factor its P.

    Returns
    -------
    μ, and the barrier's value; infinite if rounding left no feasible start.
    """
    count = terms.devices.shape[0]
    if scalars[PATH] > 0.0:
        path: float = min(1.0, _REWIND * scalars[PATH])
        start_warm(node, scalars, terms, y)
        for _ in range(2):
            value = barrier(rows, terms, y, path, space)
            if value < math.inf:
                return path, value
            y[count] += _ROOM
            y[count + 1] += _ROOM
    start_cold(rows, sizes, terms, y)
    return 1.0, barrier(rows, terms, y, 1.0, space)


@compiled
def forms(
    rows: ComplexArray, terms: Terms, inverse: ComplexArray
) -> tuple[ComplexArray, ComplexArray]:
    """Return, over the L devices that are not out, Ya (L, n) and aᵢᴴYaⱼ (L, L)."""
    antennas = rows.shape[1]
    alive = 0
    while alive < terms.devices.shape[0] and terms.square[alive] < 0.0:
        alive += 1
    products = np.empty((alive, antennas + 1), np.complex128)
    overlaps = np.empty((alive, alive), np.complex128)
    for i in range(alive):
        k = terms.devices[i]
        for n in range(antennas + 1):
            total = 0j
            for m in range(antennas):
                total += inverse[n, m + 1] * rows[k, m]
            products[i, n] = total
        for j in range(i + 1):
            total = 0j
            for n in range(antennas):
                total += rows[k, n].conjugate() * products[j, n + 1]
            overlaps[i, j] = total
            overlaps[j, i] = total.conjugate()
    return products, overlaps


@compiled
def differentiate(
    rows: ComplexArray,
    terms: Terms,
    y: RealArray,
    path: float,
    inverse: ComplexArray,
    gradient: RealArray,
    hessian: RealArray,
) -> None:
    """Write the gradient of :func:`barrier` and the lower triangle of its Hessian."""
    count, antennas = terms.devices.shape[0], rows.shape[1]
    corner = inverse[0, 0].real
    products, overlaps = forms(rows, terms, inverse)
    for i in range(count):
        p, alpha, omega = terms.places[i], terms.square[i], terms.cross[i]
        edge = products[p, 0]
        turned = omega * edge
        for j in range(i + 1):
            q, other = terms.places[j], terms.cross[j]
            overlap = overlaps[p, q]
            entry = alpha * terms.square[j] * (overlap.real**2 + overlap.imag**2)
            if omega != 0.0:
                back = omega * overlap.conjugate()
                entry += 2.0 * terms.square[j] * (back * products[q, 0]).real
                if other != 0.0:
                    entry += 2.0 * alpha * (other * overlap * edge).real
                    entry += 2.0 * (turned * other * products[q, 0]).real
                    entry += 2.0 * corner * (back * other.conjugate()).real
            hessian[i, j] = entry
        gradient[i] = terms.cost[i] / path - alpha * overlaps[p, p].real - 2.0 * turned.real
        squared, crossed = 0.0, 0j
        for n in range(1, antennas + 1):
            squared += products[p, n].real ** 2 + products[p, n].imag ** 2
            crossed += inverse[0, n] * products[p, n]
        hessian[count, i] = alpha * (edge.real**2 + edge.imag**2) + 2.0 * turned.real * corner
        hessian[count + 1, i] = alpha * squared + 2.0 * (omega * crossed).real
        if i < count - terms.free:
            gradient[i] -= 1.0 / y[i]
            hessian[i, i] += 1.0 / y[i] ** 2
            if terms.most[i] < math.inf:
                room = 1.0 / (terms.most[i] - y[i])
                gradient[i] += room
                hessian[i, i] += room * room
    trace = squared = edges = 0.0
    for n in range(1, antennas + 1):
        trace += inverse[n, n].real
        edges += inverse[n, 0].real ** 2 + inverse[n, 0].imag ** 2
        for m in range(1, antennas + 1):
            squared += inverse[n, m].real ** 2 + inverse[n, m].imag ** 2
    gradient[count] = 1.0 / path - corner
    gradient[count + 1] = 1.0 / path - trace
    hessian[count, count] = corner * corner
    hessian[count + 1, count] = edges
    hessian[count + 1, count + 1] = squared
