"""The most devices that can be served over a band, by trying every set.

A set that can be served has only subsets that can, so sets are grown one device at a time, and one
is tried only if all its subsets of one device less can be served. What a set costs on a subcarrier
is its least norm, the best of many starts.
"""

from itertools import combinations

import numpy as np

from app.scheduling.kernels.dual.least_norm import best_of_starts
from app.scheduling.types import ComplexArray
from app.scheduling.wideband.problem import WidebandProblem

FEW_STARTS, STARTS = 4, 40
_TOLERANCE = 1e-6
_VISITS = 20_000
_SERVED = 1 + 1e-9


def optimum(problem: WidebandProblem) -> int:
    """Return the size of the largest set that receivers were found for."""
    rng = np.random.default_rng(0)
    shape = (STARTS, problem.devices)
    mixtures = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    rows = np.swapaxes(problem.channels / np.sqrt(problem.required_gains), 1, 2)
    served: set[tuple[int, ...]] = {()}
    for size in range(1, problem.devices + 1):
        larger = {
            members
            for members in combinations(range(problem.devices), size)
            if all(members[:i] + members[i + 1 :] in served for i in range(size))
            and _is_served(rows[:, list(members)], mixtures, each=problem.each)
        }
        if not larger:
            return size - 1
        served = larger
    return problem.devices


def _is_served(rows: ComplexArray, mixtures: ComplexArray, *, each: bool) -> bool:
    """Whether receivers serve all of the (F, |S|, N) scaled channels."""
    # A few starts are mostly enough for a set that can be served.
    return any(_keeps(rows, mixtures[:starts], each=each) for starts in (FEW_STARTS, STARTS))


def _keeps(rows: ComplexArray, mixtures: ComplexArray, *, each: bool) -> bool:
    subcarriers, devices, _ = rows.shape
    total = 0.0
    for tone in rows:
        cost = least_cost(np.ascontiguousarray(tone), mixtures[:, :devices])
        total += cost
        if (cost if each else total / subcarriers) > _SERVED:
            return False
    return True


def least_cost(rows: ComplexArray, mixtures: ComplexArray) -> float:
    """Return the least ‖c‖² with |a_kᴴc| ≥ 1 for all rows (K, N), the best of (R, K) mixtures."""
    starts = np.ascontiguousarray(mixtures @ rows)
    _, level = best_of_starts(rows, starts, np.inf, _TOLERANCE, _VISITS * len(rows))
    return float("inf") if level == 0.0 else level**-2
