r"""Zero forcing: once the receiver and the active set are known, who sends with which scalar."""

import math
from dataclasses import dataclass

import numpy as np

from app.scheduling.problem import Problem
from app.scheduling.types import ComplexArray, IndexArray


@dataclass(frozen=True, eq=False)
class Coordination:
    """How the active devices transmit.

    Parameters
    ----------
    power_factor
        η.
    computation_error
        E, the mean squared error of the aggregate.
    transmit_scalars
        (K,) complex ψ, zero off the active set.
    """

    power_factor: float
    computation_error: float
    transmit_scalars: ComplexArray


def zero_forcing(problem: Problem, receiver: ComplexArray, active: IndexArray) -> Coordination:
    r"""Invert every active channel, at the largest common level that the power limit allows.

    .. math::
        \eta = P \min_{k\in S} |h_k^H c|^2/\phi_k^2, \quad
        \psi_k = \sqrt{\eta}\,\phi_k\,(h_k^H c)/|h_k^H c|^2, \quad
        E = \sigma^2 \|c\|^2/\eta

    so that :math:`c^H \sum_k h_k\psi_k\theta_k/\sqrt\eta = \sum_{k\in S}\phi_k\theta_k`.

    Parameters
    ----------
    receiver
        (N,) of unit norm, with a nonzero gain on every active device.
    active
        Indices of at least one device.
    """
    responses = (receiver.conj() @ problem.channels)[active].conj()
    magnitudes = np.abs(responses)
    ratios = magnitudes / problem.weights[active]
    level = float(ratios.min()) * math.sqrt(problem.power)
    scalars = np.zeros(problem.devices, np.complex128)
    # Divided twice, not by the square: that could underflow.
    scalars[active] = level / ratios * (responses / magnitudes)
    power_factor = level * level
    return Coordination(power_factor, problem.noise_variance / power_factor, scalars)
