r"""Zero forcing: once the receiver and the active set are known, who sends with which scalar."""

from typing import NamedTuple

from app.scheduling.kernels.formulas import coordinate
from app.scheduling.problem import SERVED_TOLERANCE, Problem
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
    computation_error
        E, the mean squared error of the aggregate.
    transmit_scalars
        (K,) complex ψ, zero off the active set.
    broken
        The formula that it was found to break, 0 for none: see
        :func:`app.scheduling.kernels.formulas.broken_formula`.
    """

    receiver: ComplexArray
    active: IndexArray
    power_factor: float
    computation_error: float
    transmit_scalars: ComplexArray
    broken: int


def zero_forcing(problem: Problem, receiver: ComplexArray, active: MaskArray) -> Coordination:
    r"""Invert every active channel, at the largest common level that the power limit allows.

    .. math::
        \eta = P \min_{k\in S} |h_k^H c|^2/\phi_k^2, \quad
        \psi_k = \sqrt{\eta}\,\phi_k\,(h_k^H c)/|h_k^H c|^2, \quad
        E = \sigma^2 \|c\|^2/\eta

    so that :math:`c^H \sum_k h_k\psi_k\theta_k/\sqrt\eta = \sum_{k\in S}\phi_k\theta_k`.

    Parameters
    ----------
    receiver
        (N,) of any norm, with a nonzero gain on every active device.
    active
        (K,) mask.
    """
    unit, indices, power_factor, scalars, broken = coordinate(
        problem.channels,
        problem.weights,
        problem.required_gains,
        problem.power,
        problem.noise_variance,
        receiver,
        active,
        SERVED_TOLERANCE,
    )
    error = problem.noise_variance / power_factor
    return Coordination(unit, indices, power_factor, error, scalars, broken)
