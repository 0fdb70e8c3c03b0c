"""The answer to a problem."""

from typing import Literal, NamedTuple

from app.scheduling.kernels.formulas import SERVED_TOLERANCE
from app.scheduling.types import ComplexArray, IndexArray, RealArray

Method = Literal["zero_forcing", "mmse"]
"""How the transmit scalars are set: see :mod:`app.scheduling.coordination`."""

Stopped = Literal["converged", "deadline", "limit"]
"""Why an algorithm ended."""


class Schedule(NamedTuple):
    """Who transmits, how, and through which receiver.

    Parameters
    ----------
    feasible
        Whether at least one device is active and all active devices are served.
    active
        Ascending indices of the scheduled devices, the set S.
    receiver
        (N,) complex, unit norm; (F, N) over a band; None when nobody is active.
    power_factor, computation_error
        η, and E in the worst case if the channel estimates may be wrong; None when nobody is
        active.
    transmit_scalars
        (K,) complex ψ, zero off the active set; (F, K) over a band.
    iterations, stopped
        How long the algorithm ran, and why it ended.
    phases
        (M,) complex, of the surface; everything else refers to the channels H(μ). None without a
        surface.
    upper_bound
        Proven: no receiver serves more devices, or with priorities a larger sum of them. None
        unless it was asked for.
    power_factors, computation_errors
        (F,) η and E of every subcarrier; None unless over a band. There ``power_factor`` is None,
        and ``computation_error`` what the criterion compares with the tolerance.
    required_missing, required_gamma
        Required devices that could not be served, and the least tolerance γ found that serves all
        required ones together. None unless some could not.
    worth
        What ``upper_bound`` bounds, if that is not the number of active devices.
    nominal_error
        E if the channel estimates are right; None unless they may be wrong.
    """

    feasible: bool
    active: IndexArray
    receiver: ComplexArray | None
    power_factor: float | None
    computation_error: float | None
    transmit_scalars: ComplexArray
    iterations: int
    stopped: Stopped
    phases: ComplexArray | None = None
    upper_bound: float | None = None
    power_factors: RealArray | None = None
    computation_errors: RealArray | None = None
    required_missing: IndexArray | None = None
    required_gamma: float | None = None
    worth: float | None = None
    nominal_error: float | None = None

    @property
    def optimal(self) -> bool:
        """Whether no receiver serves more, proven by the bound."""
        if self.upper_bound is None or not (self.feasible or self.active.size == 0):
            return False
        return self.reached >= self.upper_bound * (1 - SERVED_TOLERANCE)

    @property
    def reached(self) -> float:
        """What ``upper_bound`` bounds."""
        return self.active.size if self.worth is None else self.worth
