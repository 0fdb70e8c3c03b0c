"""Elastic dropping for the largest feasible subsystem, after Chinneck (2001).

J. W. Chinneck, *Fast Heuristics for the Maximum Feasible Subsystem Problem*, INFORMS Journal on
Computing 13(3).

Theirs is for linear inequalities: every constraint may be violated at a price of one per unit, the
sum of violations is minimised, and while it is positive, the constraint with the largest product of
violation and price is dropped. Here device k asks |a_kᴴc| ≥ 1 of a unit receiver, a_k = h_k/√q_k,
which is linear once its phase is that of the current response. The price of every violated
constraint is then one, so the most violated is dropped.

Assumed: the sum is minimised over the unit ball by projected subgradients, a fixed number of steps,
from the receiver before, with phases that follow. Of many violated constraints one in
:data:`BATCH` is dropped at a time, which costs little and makes a thousand devices possible.
"""

import numpy as np

from app.scheduling.problem import Problem
from app.scheduling.types import ComplexArray

STEPS, BATCH, STARTS = 40, 32, 3
"""Steps for each set; one in so many of the violated is dropped; beginnings."""


def most_served(problem: Problem, seed: int) -> int:
    """Return how many devices the best of the receivers serves."""
    rng = np.random.default_rng(seed)
    rows = (problem.channels / np.sqrt(problem.required_gains)).T
    rows = rows[np.linalg.norm(rows, axis=1) >= 1]
    best = 0
    for _ in range(STARTS if len(rows) else 0):
        start = rng.standard_normal((2, rows.shape[1]))
        best = max(best, _descended(rows, start[0] + 1j * start[1]))
    return best


def _descended(rows: ComplexArray, receiver: ComplexArray) -> int:
    """Return the most devices served on the way down from all."""
    receiver = receiver / np.linalg.norm(receiver)
    members = rows
    best = 0
    while len(members):
        receiver = _least_violated(members, receiver)
        best = max(best, int(np.count_nonzero(np.abs(rows.conj() @ receiver) >= 1 - 1e-9)))
        violations = 1 - np.abs(members.conj() @ receiver)
        violated = int(np.count_nonzero(violations > 0))
        if violated == 0:
            break
        members = members[np.argsort(violations)[: -max(1, violated // BATCH)]]
    return best


def _least_violated(members: ComplexArray, receiver: ComplexArray) -> ComplexArray:
    """Return the receiver with the least sum of violations that the steps meet."""
    best, least = receiver, np.inf
    for number in range(STEPS):
        responses = members.conj() @ receiver
        sizes = np.abs(responses)
        short = sizes < 1
        total = float((1 - sizes[short]).sum())
        if total < least:
            best, least = receiver, total
        if total == 0.0:
            break
        slope = (responses[short] / np.maximum(sizes[short], 1e-300)) @ members[short]
        receiver = receiver + 0.5 / (1 + number) * slope / np.linalg.norm(slope)
        receiver = receiver / np.linalg.norm(receiver)
    return best
