r"""A proven upper bound on what any receiver serves with any phases: who could be served alone.

Device k's channel is :math:`h_k(\mu) = \sum_m b_m v_m`, with the columns :math:`g_{m,k}t_m` and
:math:`h_k^0`, and :math:`|v_m| \le 1`. For any :math:`d > 0`

.. math:: \|h_k(\mu)\|^2 \le \lambda_{\max}\Bigl(\sum_m b_m b_m^H/d_m\Bigr)\,\sum_m d_m .

With :math:`d_m = \|b_m\|` this is at most :math:`(\sum_m\|b_m\|)^2`, what the triangle inequality
gives. Moving :math:`d_m` towards :math:`|b_m^H x|`, x being the principal eigenvector, lowers it
further: to 1.00 to 1.07 of the largest norm there is, for iid columns. Devices that need more
cannot be served; all others count.

What devices take from each other is not in the bound, so it is weak where many share a receiver.

Cost: O(MN² + N³) per device and step, for those in doubt.
"""

import numpy as np

from app.scheduling.irs.problem import IrsProblem
from app.scheduling.kernels.formulas import SERVED_TOLERANCE
from app.scheduling.kernels.proof.reach import UNIT_ROUNDOFF
from app.scheduling.schedule import Schedule
from app.scheduling.spec import SolveSpec
from app.scheduling.stopping import flag_after
from app.scheduling.types import ComplexArray, MaskArray

STEPS = 3
"""How many d are tried, at most."""

_LEAST_SHARE = 1e-9
"""No d is smaller than this share of the largest."""

_ROUNDING = 1 + 1e-9
"""Factor for the rounding of the eigenvalues."""


def upper_bound(problem: IrsProblem, schedule: Schedule, spec: SolveSpec, stop: MaskArray) -> float:
    """Return a proven bound on how many devices, or what value, any receiver and phases serve.

    Parameters
    ----------
    schedule
        A schedule of the problem; its devices can be served.
    stop
        (1,) mask; when it becomes true, the bound reached is returned.
    """
    plain = problem.without_surface
    needs, triangle = np.sqrt(plain.alone_gains), problem.reach
    # What the service calls served may fall short by this much, as channels are rounded too.
    rounding = 3 * (problem.antennas + problem.elements + 8) * UNIT_ROUNDOFF * triangle
    needs = needs * (1 - 1.2 * SERVED_TOLERANCE) - rounding
    counted = triangle * _ROUNDING >= needs
    doubted = counted.copy()
    if schedule.feasible:
        doubted[schedule.active] = False
    with flag_after(spec.bound_seconds) as spent:
        for k in np.flatnonzero(doubted):
            if stop[0] or spent[0]:
                break
            reflected = problem.irs_to_server * problem.devices_to_irs[:, k]
            columns = np.column_stack([problem.direct[:, k], reflected])
            counted[k] = _reaches(columns, float(triangle[k]), float(needs[k]))
    return plain.as_answered(plain.worth(counted))


def _reaches(columns: ComplexArray, triangle: float, needed: float) -> bool:
    """Return whether ‖Σ v_m b_m‖ may reach ``needed``; False is proven.

    Parameters
    ----------
    columns
        (N, M + 1) b_m.
    triangle
        Σ‖b_m‖.
    """
    if not triangle > 0.0:
        return needed <= 0.0
    columns = columns / triangle
    shares = np.linalg.norm(columns, axis=0)
    for _ in range(STEPS):
        shares = np.maximum(shares, _LEAST_SHARE * shares.max())
        scaled = columns / np.sqrt(shares)
        values, vectors = np.linalg.eigh(scaled @ scaled.conj().T)
        if np.sqrt(values[-1] * shares.sum()) * triangle * _ROUNDING < needed:
            return False
        shares = np.sqrt(shares * np.abs(vectors[:, -1].conj() @ columns))
    return True
