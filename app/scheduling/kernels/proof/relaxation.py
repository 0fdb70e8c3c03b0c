r"""The least bound of a node, by an interior-point method over its multipliers.

:mod:`.proof.bound` states the bound D. Newton's method follows the
minimum of D with the barrier of :mod:`.proof.barrier` as its parameter
μ falls. On that path D is within μ times the number of logarithms of the least. Every point on the
way is a bound.

Cost: O(N³ + KN² + K²N + K³) per step, about ten steps from a parent's multipliers.
"""

import math

import numpy as np

from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.linalg.newton import invert_factored, is_sufficient, longest_step
from app.scheduling.kernels.proof.barrier import (
    Space,
    barrier,
    differentiate,
    feasible_start,
    store_multipliers,
)
from app.scheduling.kernels.proof.bound import dual_value, list_terms, rounding
from app.scheduling.types import ComplexArray, MaskArray, RealArray

PRUNED, OPEN, STOPPED = range(3)

_MOST_STEPS = 150
_CENTRED = 1.0
"""Squared Newton decrement below which a point is close enough to the path to move on."""

_SHARE = 0.95
"""A step covers at most this share of the way to the nearest bound."""

_SHRINK = 0.2
"""Factor by which μ falls."""

_HOPELESS = 1.1
"""A node stays open once D minus this many gaps exceeds the target; one gap is exact on the path.
"""

_LEAST_STEP = 1e-9
_LEAST_PIVOT = 1e-15


@compiled
def factor_scaled(hessian: RealArray, scale: RealArray) -> bool:
    """Factor the Hessian, its diagonal scaled to one, in place; False if it is not positive.

    The diagonal receives the reciprocals of the factor's.
    """
    size = scale.shape[0]
    column = np.empty(size)
    for i in range(size):
        if not hessian[i, i] > 0.0:
            return False
        scale[i] = 1.0 / math.sqrt(hessian[i, i])
        for j in range(i + 1):
            hessian[i, j] *= scale[i] * scale[j]
    for j in range(size):
        # Rounding may have taken all of the pivot.
        reciprocal = 1.0 / math.sqrt(max(hessian[j, j], _LEAST_PIVOT))
        hessian[j, j] = reciprocal
        for i in range(j + 1, size):
            entry = hessian[i, j] * reciprocal
            hessian[i, j] = column[i] = entry
            for k in range(j + 1, i + 1):
                hessian[i, k] -= entry * column[k]
    return True


@compiled
def solve_scaled(lower: RealArray, scale: RealArray, gradient: RealArray, x: RealArray) -> float:
    """Write the Newton step x, minus the factored Hessian's inverse times the gradient.

    Returns
    -------
    The decrement, -x times the gradient.
    """
    size = scale.shape[0]
    for i in range(size):
        entry = scale[i] * gradient[i]
        for k in range(i):
            entry -= lower[i, k] * x[k]
        x[i] = entry * lower[i, i]
    for i in range(size - 1, -1, -1):
        x[i] *= lower[i, i]
        for k in range(i):
            x[k] -= lower[i, k] * x[i]
    decrement = 0.0
    for i in range(size):
        x[i] *= -scale[i]
        decrement -= x[i] * gradient[i]
    return decrement


@compiled
def relax(
    rows: ComplexArray,
    sizes: RealArray,
    reach: RealArray,
    values: RealArray,
    node: RealArray,
    scalars: RealArray,
    target: float,
    precision: float,
    receiver: ComplexArray,
    stop: MaskArray,
    spent: MaskArray,
) -> tuple[int, float]:
    """Lower the bound of a node until it is below ``target`` or can hardly get there.

    Parameters
    ----------
    rows, sizes
        (K, N) scaled channels a and (K,) their squared norms.
    reach, values
        (K,) ρ, at least one, and v, at most one.
    node, scalars
        (5, K) and (4,), see :mod:`.proof.bound`. The multipliers in
        them are the start, and are replaced by those reached.
    precision
        How close to the least bound to get, where that decides.
    receiver
        (N,) receives the relaxation's c.
    stop, spent
        (1,) masks, checked in every step.

    Returns
    -------
    PRUNED if no receiver in the node serves the value ``target``, otherwise OPEN or STOPPED; the
    bound of the multipliers reached, which holds in any case.
    """
    antennas = rows.shape[1]
    terms = list_terms(node, reach, values)
    count = terms.devices.shape[0]
    shape = (antennas + 1, antennas + 1)
    space = Space(
        np.empty(shape, np.complex128),
        np.empty(shape, np.complex128),
        np.empty(shape, np.complex128),
    )
    y, trial = np.empty(count + 2), np.empty(count + 2)
    gradient, direction, scale = np.empty(count + 2), np.empty(count + 2), np.empty(count + 2)
    hessian = np.empty((count + 2, count + 2))
    path, value = feasible_start(rows, sizes, terms, node, scalars, y, space)
    if not value < math.inf:
        receiver[:] = 0.0
        return OPEN, math.inf
    logarithms = antennas + 1 + count - terms.free
    for i in range(count):
        logarithms += terms.most[i] < math.inf
    steps = 0
    while True:
        dual = dual_value(terms, y)
        bound = dual + rounding(sizes, terms, y, antennas)
        if bound < target:
            return PRUNED, bound
        if stop[0] or spent[0]:
            return STOPPED, bound
        if steps == _MOST_STEPS:
            break
        steps += 1
        invert_factored(space.lower, space.inverse)
        differentiate(rows, terms, y, path, space.inverse, gradient, hessian)
        if not factor_scaled(hessian, scale):
            break
        decrement = solve_scaled(hessian, scale, gradient, direction)
        done = False
        while decrement < _CENTRED:
            gap = logarithms * path
            if gap < precision or dual - _HOPELESS * gap > target:
                done = True
                break
            # The Hessian does not depend on μ: the next direction is one solve away.
            change = (1.0 / _SHRINK - 1.0) / path
            path *= _SHRINK
            value += change * (dual - terms.worth)
            for i in range(count + 2):
                gradient[i] += change * (terms.cost[i] if i < count else 1.0)
            decrement = solve_scaled(hessian, scale, gradient, direction)
        if done:
            break
        bounded = count - terms.free
        step = longest_step(y[:bounded], terms.most, direction, _SHARE)
        lowered = math.inf
        while step > _LEAST_STEP:
            for i in range(count + 2):
                trial[i] = y[i] + step * direction[i]
            lowered = barrier(rows, terms, trial, path, space)
            if is_sufficient(value - lowered, step, decrement, _CENTRED):
                break
            step *= 0.5
        if step <= _LEAST_STEP:
            barrier(rows, terms, y, path, space)
            break
        for i in range(count + 2):
            y[i] = trial[i]
        value = lowered
    invert_factored(space.lower, space.inverse)
    for n in range(antennas):
        receiver[n] = space.inverse[n + 1, 0] / space.inverse[0, 0].real
    store_multipliers(terms, y, path, node, scalars)
    return OPEN, bound
