r"""How strongly a receiver that serves one device can respond to another.

A unit receiver c with :math:`|a_j^H c| \ge 1` makes an angle of at most
:math:`\alpha_j = \arccos(1/\|a_j\|)` with :math:`a_j`, and so of at least
:math:`\theta_{jk} - \alpha_j` with :math:`a_k`, where :math:`\theta_{jk}` is the angle between the
two channels. Its response to device k is therefore at most

.. math:: \rho_{jk} = \|a_k\| \cos(\max(0, \theta_{jk} - \alpha_j)).

Where this is below one, no receiver serves both.

Rounding: the computed cosines differ from the exact ones by less than :math:`e = (2N + 16)u`, with
u = 2⁻⁵³, and arccos changes by less than :math:`2\sqrt{e}` where its argument changes by e. Both
angles are moved by that towards a larger reach, and the reach is raised by the share e.
"""

import math

import numpy as np

from app.scheduling.kernels.compile import compiled
from app.scheduling.types import ComplexArray, RealArray

UNIT_ROUNDOFF: float = 2.0**-53


@compiled
def pairwise_reach(rows: ComplexArray, sizes: RealArray) -> RealArray:
    """Return (K, K), entry (j, k) an upper bound on |a_kᴴc| of any unit c with |a_jᴴc| ≥ 1.

    Parameters
    ----------
    rows, sizes
        (K, N) scaled channels a and (K,) their squared norms, about one or more.
    """
    devices, antennas = rows.shape
    error = (2.0 * antennas + 16.0) * UNIT_ROUNDOFF
    reach = np.empty((devices, devices))
    for j in range(devices):
        widest = math.acos(min(1.0, 1.0 / math.sqrt(sizes[j]))) + 4.0 * math.sqrt(error)
        for k in range(devices):
            overlap = 0j
            for n in range(antennas):
                overlap += rows[j, n].conjugate() * rows[k, n]
            angle = math.acos(min(1.0, abs(overlap) / math.sqrt(sizes[j] * sizes[k])))
            closest = math.cos(max(0.0, angle - widest))
            reach[j, k] = math.sqrt(sizes[k]) * closest * (1.0 + error)
    return reach
