"""Running the compiled search of dual pursuit on a problem."""

from typing import NamedTuple

import numpy as np

from app.scheduling.kernels.dual.search import dual_pursuit
from app.scheduling.problem import Problem
from app.scheduling.scheduler import Context
from app.scheduling.types import ComplexArray

STARTS = 5
"""Default number of starts."""

_SEED_BITS = (1 << 64) - 1
_NO_START = np.zeros(0, np.complex128)


class Pursued(NamedTuple):
    """What dual pursuit found.

    Parameters
    ----------
    receiver
        (N,) of unit norm.
    served
        How many devices it serves.
    rounds
        How many rounds the search took.
    """

    receiver: ComplexArray
    served: int
    rounds: int


def pursue(problem: Problem, context: Context, starts: int = STARTS) -> Pursued:
    """Search for the receiver that serves most value, never less than a warm start does."""
    given = start_of(context.warm_start)
    found = Pursued(
        *dual_pursuit(
            problem.channels,
            np.sqrt(problem.required_gains),
            problem.values,
            given,
            starts,
            seed_of(context.seed),
            context.stop,
        )
    )
    size = np.linalg.norm(given)
    if size > 0:
        # The search may count a device as missed that the final check calls served.
        served = problem.served(given / size)
        if problem.worth(served) > problem.worth(problem.served(found.receiver)):
            return Pursued(given / size, int(np.count_nonzero(served)), found.rounds)
    return found


def start_of(receiver: ComplexArray | None) -> ComplexArray:
    """Return ``receiver`` as the kernels take a start: empty for none."""
    # A copy, because the kernels are compiled for writable arrays.
    return _NO_START if receiver is None else np.array(receiver)


def seed_of(seed: int) -> np.uint64:
    """Return ``seed`` as the kernels take it."""
    return np.uint64(seed & _SEED_BITS)
