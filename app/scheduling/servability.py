r"""Whether one receiver can serve a whole set of devices.

The question is whether :math:`\min\|c\|^2 \le 1` subject to :math:`|h_k^H c|^2 \ge q_k`: not
convex, and NP-hard in general. A "yes" is certain: it comes with a receiver that has been checked.
A "no" is

- certain if a device cannot be served even alone, :math:`\|h_k\|^2 < q_k`;
- certain if the semidefinite relaxation (:mod:`app.scheduling.kernels.lifted.solver`) is
  infeasible: if no C serves them all, no :math:`cc^H` does;
- otherwise a guess: no start of :mod:`app.scheduling.kernels.dual.least_norm` led to a
  receiver. The starts are random mixtures of the channels, half of them multiplied by the square
  root of the relaxation's solution C. More starts make it a better guess.

The same question always gets the same answer: the starts are drawn from a fixed seed.

Cost: O(KN) per sweep and tens to hundreds of sweeps per start. The relaxation, needed only if two
starts fail, is O(N³ + KN² + K²N + K³) times 5 to 40.
"""

import math
from functools import lru_cache

import numpy as np

from app.scheduling.kernels.dual.least_norm import best_of_starts
from app.scheduling.kernels.formulas import SERVED_TOLERANCE
from app.scheduling.kernels.lifted.solver import INFEASIBLE, SOLVED, solve_lifted
from app.scheduling.kernels.linalg.gram import aligned_sum
from app.scheduling.lifted import servable_rows
from app.scheduling.problem import Problem
from app.scheduling.types import ComplexArray, IndexArray

_GAP = 1e-3
"""Gap of the relaxation: only its feasibility and the rough place of its solution matter."""

_TOLERANCE = 1e-3
"""A start ends when its level is this close to the bound for its phases."""

_VISITS = 1000
"""Limit on visits per device and start."""


class Servability:
    """Decides for any set of a problem's devices.

    Parameters
    ----------
    starts
        How many starts to try before an unproven no.

    Attributes
    ----------
    devices
        Indices of the devices that can be served alone; no set with any other can be served.
    """

    devices: IndexArray

    def __init__(self, problem: Problem, starts: int = 20) -> None:
        self._problem = problem
        self._rows, self.devices = servable_rows(problem)
        self._position = {int(device): row for row, device in enumerate(self.devices)}
        self._starts = starts

    def receiver(self, members: IndexArray) -> ComplexArray | None:
        """Look for a receiver that serves all ``members``, at least one.

        Returns
        -------
        (N,) of unit norm, checked; None if none exists or none was found.
        """
        try:
            rows = self._rows[[self._position[int(member)] for member in members]]
        except KeyError:
            return None
        weakest = np.argmin(np.sum(np.abs(rows) ** 2, axis=1))
        receiver = self._checked(members, rows, np.stack([rows[weakest], aligned_sum(rows)]))
        if receiver is not None:
            return receiver
        starts = _drawn_starts(rows, self._starts)
        return None if starts is None else self._checked(members, rows, starts)

    def _checked(
        self, members: IndexArray, rows: ComplexArray, starts: ComplexArray
    ) -> ComplexArray | None:
        """Return the best receiver that ``starts`` lead to, if it serves all ``members``."""
        visits = _VISITS * rows.shape[0]
        receiver, level = best_of_starts(rows, starts, 1.0, _TOLERANCE, visits)
        if level < 1 - SERVED_TOLERANCE:
            return None
        receiver /= np.linalg.norm(receiver)
        return receiver if self._problem.served(receiver)[members].all() else None


def _drawn_starts(rows: ComplexArray, count: int) -> ComplexArray | None:
    """Return (count, N) random starts, or None if the relaxation proves that none can succeed."""
    devices, antennas = rows.shape
    # In the span of the channels, where the best receiver lies, whatever the antennas' basis.
    directions = _mixtures(devices, count) @ rows
    anywhere = np.zeros((antennas, antennas), np.complex128)
    try:
        status, matrix, _ = solve_lifted(rows, np.full(devices, math.inf), anywhere, _GAP)
    except np.linalg.LinAlgError:
        return directions
    if status == INFEASIBLE:
        return None
    if status != SOLVED:
        return directions
    values, vectors = np.linalg.eigh(matrix)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.conj().T
    directions[::2] = directions[::2] @ root.T
    # The best rank-one approximation itself comes first.
    directions[0] = vectors[:, -1]
    return directions


@lru_cache(maxsize=64)
def _mixtures(devices: int, count: int) -> ComplexArray:
    """Return (count, K) complex Gaussian coefficients, always the same."""
    pairs = np.random.default_rng(0).standard_normal((count, devices, 2))
    mixtures: ComplexArray = pairs[..., 0] + 1j * pairs[..., 1]
    mixtures.flags.writeable = False
    return mixtures
