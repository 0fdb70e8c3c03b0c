"""The least tolerance at which one receiver, with the phases tuned for it, serves given devices."""

import numpy as np

from app.scheduling.irs.joint_search import LAST_ALTERNATIONS, scaled_surface
from app.scheduling.irs.problem import IrsProblem
from app.scheduling.kernels.surface.level import raise_level
from app.scheduling.kernels.surface.phases import tuned_channels
from app.scheduling.types import ComplexArray, IndexArray, MaskArray

_STARTS = 8


def least_tolerance(
    problem: IrsProblem, members: IndexArray, stop: MaskArray
) -> tuple[ComplexArray, ComplexArray, float]:
    """Return a receiver and phases of the least error for ``members``, and the γ they need.

    The best of a few starts, which are always the same: a local optimum.

    Parameters
    ----------
    stop
        (1,) mask; when it becomes true, the best so far is returned.
    """
    scaled, _ = scaled_surface(problem)
    rng = np.random.default_rng(0)
    best: ComplexArray = np.zeros(problem.antennas, np.complex128)
    best[0] = 1.0
    best_phases, least = problem.start(), np.inf
    for start in range(_STARTS):
        phases = problem.start()
        if start > 0:
            phases[problem.order] = problem.grid.random(rng, problem.elements)
        mixture = rng.standard_normal((members.size, 2)) @ [1, 1j]
        receiver = tuned_channels(scaled, phases)[:, members] @ mixture
        if not np.linalg.norm(receiver) > 0:
            continue
        raise_level(scaled, members, receiver, phases, np.inf, LAST_ALTERNATIONS, stop)
        receiver /= np.linalg.norm(receiver)
        responses = np.abs(receiver.conj() @ problem.tuned(phases).channels[:, members])
        if responses.min() > 0:
            gamma = float(np.max(problem.weights[members] / responses) ** 2)
            if gamma < least:
                best, best_phases, least = receiver, phases, gamma
        if stop[0]:
            break
    return best, best_phases, least
