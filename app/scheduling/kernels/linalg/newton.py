r"""What the interior-point methods share: the inverse, the longest step, and when to accept one.

They follow the optimum of a concave or convex function with a logarithmic barrier by Newton's
method. The *decrement* is the gradient times the Newton direction: twice the change that the
quadratic model expects of a full step.
"""

import math

from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.linalg.factor import solve_factored
from app.scheduling.types import ComplexArray, RealArray

SUFFICIENT = 0.01
"""Share of the expected change that a step has to bring."""


@compiled
def invert_factored(lower: ComplexArray, inverse: ComplexArray) -> None:
    """Write the inverse (N, N) of the matrix factored into ``lower``."""
    size = lower.shape[0]
    inverse[:] = 0.0
    for n in range(size):
        inverse[n, n] = 1.0
        # Row n becomes column n of the inverse, which is the conjugate of its row n.
        solve_factored(lower, inverse[n])
        for m in range(size):
            inverse[n, m] = inverse[n, m].conjugate()


@compiled
def longest_step(
    multipliers: RealArray, most: RealArray, direction: RealArray, share: float
) -> float:
    """Return the step, at most 1, that covers ``share`` of the way to the nearest bound.

    Parameters
    ----------
    multipliers, most
        (m,) between zero and ``most``, which may be infinite.
    direction
        (m,) or longer; further entries have no bounds.
    """
    step = 1.0
    for k in range(multipliers.shape[0]):
        if direction[k] < 0.0:
            step = min(step, -share * multipliers[k] / direction[k])
        elif direction[k] > 0.0:
            step = min(step, share * (most[k] - multipliers[k]) / direction[k])
    return step


@compiled
def is_sufficient(gain: float, step: float, decrement: float, centred: float) -> bool:
    """Return whether to accept a step that improves the function by ``gain``.

    Close to the path, with a decrement below ``centred``, Newton's step needs no check, which
    rounding might fail: it only has to stay inside, where the gain is a finite number.
    """
    if not math.isfinite(gain):
        return False
    return decrement < centred or gain >= SUFFICIENT * step * decrement
