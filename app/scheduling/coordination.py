r"""Coordination: transmit scalars for a known receiver and active set."""

from typing import NamedTuple

from app.scheduling.kernels.formulas import coordinate
from app.scheduling.problem import Problem
from app.scheduling.schedule import Method
from app.scheduling.types import ComplexArray, IndexArray, MaskArray


class Coordination(NamedTuple):
    """How the active devices transmit.

    Parameters
    ----------
    receiver
        (N,) complex, unit norm.
    active
        Ascending indices of the active devices.
    power_factor
        η.
    computation_error, nominal_error
        E, the mean squared error of the aggregate, in the worst case and as estimated.
    transmit_scalars
        (K,) complex ψ, zero off the active set.
    broken
        The formula that the result breaks, 0 for none: see
        :func:`app.scheduling.kernels.formulas.broken_formula`.
    """

    receiver: ComplexArray
    active: IndexArray
    power_factor: float
    computation_error: float
    nominal_error: float
    transmit_scalars: ComplexArray
    broken: int


def coordinated(
    problem: Problem, receiver: ComplexArray, active: MaskArray, method: Method
) -> Coordination:
    r"""Set η and ψ for the active devices.

    zero_forcing
        Invert every active channel, at the largest common level that the power limit allows:

        .. math::
            \eta = P \min_{k\in S} |h_k^H c|^2/\phi_k^2, \quad
            \psi_k = \sqrt{\eta}\,\phi_k\,(h_k^H c)/|h_k^H c|^2, \quad
            E = \sigma^2 \|c\|^2/\eta

        so that :math:`c^H \sum_k h_k\psi_k\theta_k/\sqrt\eta = \sum_{k\in S}\phi_k\theta_k`.
    mmse
        Minimise the mean squared error over η and :math:`|\psi_k|^2 \le P`, for uncorrelated
        model entries of zero mean and unit variance:

        .. math::
            E = \sum_{k\in S} |\psi_k c^H h_k/\sqrt\eta - \phi_k|^2 + \sigma^2\|c\|^2/\eta.

        The weakest devices send at full power and fall short; the others invert their channels.
        Never worse than zero forcing, and equal to it as the noise vanishes.

    The estimates may be wrong, :math:`h_k = \hat h_k + d_k` with :math:`\|d_k\| \le e_k`. Then ψ,
    which is set for the estimates, no longer fits, and with :math:`s_k = |\psi_k|/\sqrt\eta` the
    error is at most, and for some :math:`d_k` along c exactly,

    .. math::
        E = \sum_{k\in S} \bigl(|\psi_k c^H\hat h_k/\sqrt\eta - \phi_k| + s_k e_k\bigr)^2
            + \sigma^2/\eta,

    for zero forcing :math:`\sum_S \phi_k^2 e_k^2/|\hat h_k^H c|^2 + \sigma^2/\eta`. This is what
    ``mmse`` minimises.

    Parameters
    ----------
    receiver
        (N,) of any norm, with a nonzero gain on every active device.
    active
        (K,) mask.
    """
    return Coordination(
        *coordinate(
            problem.channels,
            problem.weights,
            problem.required_gains,
            problem.errors,
            problem.power,
            problem.noise_variance,
            problem.max_error,
            receiver,
            active,
            method == "zero_forcing",
        )
    )
