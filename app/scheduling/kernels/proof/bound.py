r"""An upper bound on the value of the devices one receiver serves, given what is decided.

With :math:`a_k = h_k/\sqrt{q_k}` (:math:`q_k` the required gain) a unit receiver c serves device k
when :math:`|z_k| \ge 1`, :math:`z_k = a_k^H c`. Each has a value :math:`0 < v_k \le 1`; if all are
one, the value of a set is its size. A node of the search decides some of it: a device
is in, out or undecided; the phase of one device that is in, the *reference*, is fixed by rotating
c, so that its :math:`z` is real and positive; other devices that are in may be confined to a
sector, :math:`|\arg(\bar m_k z_k)| \le \delta_k` with :math:`|m_k| = 1`. No response of a receiver
in the node exceeds :math:`\rho_k` (:mod:`.proof.reach`).

The bound
    For all :math:`\lambda \ge 0` (at most :math:`v_k` for undecided devices), :math:`\mu \ge 0`, σ,
    τ and ν every receiver of the node satisfies

    - served or not, an undecided device counts at most :math:`v_k - \lambda_k + \lambda_k|z_k|^2`:
      at least :math:`v_k` where :math:`|z_k| \ge 1`, and never less than zero. So does a device
      that is in, which is served;
    - :math:`0 \le \mu_k(\beta_k\Re\{\bar m_k z_k\} - \rho_k - |z_k|^2)` in a sector, with
      :math:`\beta_k = (1 + \rho_k)/\cos\delta_k`, because
      :math:`\Re\{\bar m_k z_k\} \ge |z_k|\cos\delta_k` and :math:`(|z_k| - 1)(\rho_k - |z_k|) \ge
      0`. It implies the argument cut of C. Lu and Y.-F. Liu, *An efficient global algorithm for
      single-group multicast beamforming*, 2017;
    - :math:`0 = \nu\,\Im z` for the reference, whose sector has :math:`\delta = 0`.

    With :math:`w = (1, c)`, of squared norm two, their sum is :math:`D - w^H P w`, where

    .. math::
        D &= \sigma + \tau + \sum_k(v_k - \lambda_k) - \sum_k\mu_k\rho_k, \\
        P &= \begin{bmatrix}\sigma & \cdot \\ -v/2 & \tau I - \sum_k(\lambda_k - \mu_k)a_k a_k^H
        \end{bmatrix}, \quad v = \sum_k\mu_k\beta_k m_k a_k + i\nu a_{\text{ref}}.

    So :math:`P \succeq -eI` proves that nobody serves more than the value :math:`D + 2e`. And if an
    undecided device is not served, its term is not needed: then nobody serves more than
    :math:`D + 2e - (v_k - \lambda_k)`.

Rounding
    The multipliers are floating-point numbers, kept within their bounds, so only the computed P and
    D are inexact. Let u = 2⁻⁵³, :math:`\gamma_i = iu/(1 - iu)`, m the number of terms, n = N + 1
    the size of P, and T the sum of the magnitudes of all terms,

    .. math::
        T = \sigma + n\tau + \sum_k\bigl(1 + \lambda_k(1 + \|a_k\|^2)\bigr)
        + \sum_k\mu_k(\rho_k + \|a_k\|^2 + \beta_k\|a_k\|) + |\nu|\|a_{\text{ref}}\| .

    - D is a sum of at most m + 4 rounded terms: its error is at most :math:`\gamma_{m+4}T`.
    - Each term of P is rounded at most m + 16 times, counting its β and m (cosines within 4u), the
      complex product and the sum. Real and imaginary part separately err by at most
      :math:`\gamma_{m+16}` times the sum of the terms' magnitudes, so the matrix errs by at most
      :math:`\sqrt2\gamma_{m+16}T` in norm.
    - ``factor_below`` leaves pivots :math:`d_j > 0` and columns :math:`c_{ij}` (before they are
      divided by :math:`d_j`) with :math:`P_{ik} = \sum_{j\le k}(c_{ij}\bar c_{kj}/d_j)(1 + θ)`,
      again by parts, :math:`|\theta| \le \gamma_{n+4}`: n subtractions, the product with its sum,
      the division by a rounded reciprocal. The matrix :math:`M = CD^{-1}C^H` is positive
      semidefinite, and :math:`|P_{ik} - M_{ik}| \le \sqrt2\gamma_{n+4}\sqrt{M_{ii}M_{kk}}` by
      Cauchy and Schwarz. On the diagonal this gives :math:`M_{ii} \le P_{ii}/(1 - \gamma_{n+4})`,
      so :math:`\|P - M\| \le 2(n + 4)u\operatorname{tr}P`, and the trace is at most T. This is the
      argument of S. M. Rump, *Verification of positive definiteness*, 2006, for this
      factorisation.

    Together D is exceeded by at most :math:`(m + 4 + 2\sqrt2(m + 16) + 4(n + 4))uT`, up to terms in
    u². :func:`rounding` returns :math:`8(m + n + 20)uT`, about twice as much, which also covers the
    rounding of T itself. Underflow is far smaller, because T is at least one.
"""

import math
from typing import NamedTuple

import numpy as np

from app.scheduling.kernels.compile import compiled
from app.scheduling.kernels.proof.reach import UNIT_ROUNDOFF
from app.scheduling.types import ComplexArray, IndexArray, RealArray

UNDECIDED, IN, OUT = 0.0, 1.0, 2.0
"""What is decided about a device."""

STATUS, CENTRE, HALF, GAIN, CUT = range(5)
"""Rows of a node (5, K): the status; arg m and δ of the sector (π for none); λ and μ."""

NU, SIGMA, TAU, PATH = range(4)
"""Of the scalars of a node (4,): ν, σ, τ, and the barrier's parameter, zero before any step."""


class Terms(NamedTuple):
    """The multipliers as one list, with P = σe₀e₀ᴴ + τE + Σ yᵢ(αᵢaaᴴ + ωᵢae₀ᴴ + ω̄ᵢe₀aᴴ).

    ``devices`` (m,) of each a, and ``places`` (m,) its place among the devices that are not out,
    which the first terms list; ``square`` α and ``cross`` ω (m,); ``cost`` (m,) of each y in D;
    ``most`` (m,) upper bounds; ``worth`` of all devices that are not out. The last is ν, and has
    no lower bound, if ``free`` is one.
    """

    devices: IndexArray
    places: IndexArray
    square: RealArray
    cross: ComplexArray
    cost: RealArray
    most: RealArray
    worth: float
    free: int


@compiled
def list_terms(node: RealArray, reach: RealArray, values: RealArray) -> Terms:
    """List the multipliers of a node (5, K): λ, then μ, then ν.

    Parameters
    ----------
    reach, values
        (K,) ρ and v.
    """
    alive = count = free = 0
    for k in range(node.shape[1]):
        alive += node[STATUS, k] != OUT
        count += node[STATUS, k] == IN and node[HALF, k] < math.pi
        free |= node[STATUS, k] == IN and node[HALF, k] == 0.0
    count += alive + free
    devices = np.empty(count, np.int64)
    places = np.empty(count, np.int64)
    square = np.zeros(count)
    cross = np.zeros(count, np.complex128)
    cost = np.zeros(count)
    most = np.full(count, math.inf)
    worth = 0.0
    place, cut, last = 0, alive, count - 1
    for k in range(node.shape[1]):
        if node[STATUS, k] == OUT:
            continue
        devices[place], places[place] = k, place
        square[place] = cost[place] = -1.0
        worth += values[k]
        if node[STATUS, k] == UNDECIDED:
            most[place] = values[k]
        elif node[HALF, k] < math.pi:
            devices[cut], places[cut] = k, place
            square[cut], cost[cut] = 1.0, -reach[k]
            slope = -0.5 * (1.0 + reach[k]) / math.cos(node[HALF, k])
            centre = node[CENTRE, k]
            cross[cut] = complex(slope * math.cos(centre), slope * math.sin(centre))
            cut += 1
            if node[HALF, k] == 0.0:
                devices[last], places[last], cross[last] = k, place, -0.5j
        place += 1
    return Terms(devices, places, square, cross, cost, most, worth, free)


@compiled
def rounding(sizes: RealArray, terms: Terms, y: RealArray, antennas: int) -> float:
    """Return 8(m + n + 20)uT, by which rounding may have lowered the bound."""
    count = terms.devices.shape[0]
    total: float = abs(y[count]) + (antennas + 1) * abs(y[count + 1])
    for i in range(count):
        size = sizes[terms.devices[i]]
        cross = 2.0 * (abs(terms.cross[i].real) + abs(terms.cross[i].imag))
        total += abs(y[i]) * (abs(terms.cost[i]) + size + cross * math.sqrt(size)) + 1.0
    share: float = 8.0 * (count + antennas + 21) * UNIT_ROUNDOFF
    return share * total


@compiled
def dual_value(terms: Terms, y: RealArray) -> float:
    """Return D: the value of the devices that are not out, and the multipliers' costs."""
    count = terms.devices.shape[0]
    value: float = y[count] + y[count + 1]
    for i in range(count):
        value += terms.cost[i] * y[i]
    return value + terms.worth
