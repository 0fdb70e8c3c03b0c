r"""The scheduling problem over a band, frozen and checked.

A model update is spread over F subcarriers. Device k has the channel :math:`h_{k,f}` on subcarrier
f, and the server one receiver :math:`c_f` for each. One set :math:`S` transmits on all of them, so
every coordinate of the model is averaged over the same devices. With
:math:`E_f = (\sigma^2/P)\max_{k\in S}\phi_k^2\|c_f\|^2/|h_{k,f}^H c_f|^2`, maximise :math:`|S|`
subject to

mean
    :math:`\frac1F\sum_f E_f \le \varepsilon`: the mean squared error of the aggregated model.
each
    :math:`E_f \le \varepsilon` on every subcarrier.

With priorities :math:`v_k`, maximise :math:`\sum_{k\in S} v_k` instead.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from app.scheduling.any_problem import NO_DEVICES, AnyProblem, InvalidProblemError
from app.scheduling.kernels.formulas import RESOLUTION, SERVED_TOLERANCE
from app.scheduling.problem import Problem, frozen
from app.scheduling.types import ColumnMap, ComplexArray, IndexArray, MaskArray, RealArray

Criterion = Literal["mean", "each"]


@dataclass(frozen=True, eq=False)
class WidebandProblem(AnyProblem):
    """One round over a band of subcarriers.

    Parameters
    ----------
    channels
        (F, N, K) complex: column k of matrix f is device k's channel on subcarrier f.
    weights, gamma, noise_variance, priorities
        As for :class:`app.scheduling.problem.Problem`.
    power
        Transmit power limit P of a device on each subcarrier.
    csi_error
        (K,) or one number for all: bound on the error of each h_{k,f}.
    criterion
        What the tolerance limits: the *mean* of the subcarriers' errors, or *each* of them.
    required
        Ascending indices of devices that must be in the set, or nobody is: see :mod:`.cell`, which
        also gives them priority.

    Raises
    ------
    InvalidProblemError
        A shape or value is invalid; the error names the argument.
    """

    channels: ComplexArray
    weights: RealArray
    gamma: float
    power: float = 1.0
    noise_variance: float = 1.0
    csi_error: RealArray | float = 0.0
    priorities: RealArray | None = None
    criterion: Criterion = "mean"
    required: IndexArray = field(default_factory=lambda: NO_DEVICES)

    errors: RealArray = field(init=False, repr=False)
    uncertain: bool = field(init=False, repr=False)
    """As for a problem without a band."""

    stacked: Problem = field(init=False, repr=False)
    """The same devices with the antennas of all subcarriers stacked, (F·N, K)."""

    def __post_init__(self) -> None:
        channels = frozen("channels", self.channels, np.complex128)
        if channels.ndim != 3:
            raise InvalidProblemError("channels", "must be subcarriers × antennas × devices")
        if channels.size == 0:
            raise InvalidProblemError(
                "channels", "must have at least one subcarrier, one antenna and one device"
            )
        if self.criterion not in ("mean", "each"):
            raise InvalidProblemError("criterion", "must be mean or each")
        stacked = Problem(
            channels.reshape(-1, channels.shape[2]),
            self.weights,
            self.gamma,
            self.power,
            self.noise_variance,
            self.csi_error,
            self.priorities,
        )
        object.__setattr__(self, "channels", channels)
        object.__setattr__(self, "stacked", stacked)
        for name in ("weights", "csi_error", "priorities", "errors", "uncertain"):
            object.__setattr__(self, name, getattr(stacked, name))

    @property
    def subcarriers(self) -> int:
        """Number of subcarriers F."""
        return int(self.channels.shape[0])

    @property
    def sizes(self) -> Mapping[str, int]:
        """Numbers of subcarriers F, antennas N and devices K."""
        return dict(zip(("subcarriers", "antennas", "devices"), self.channels.shape, strict=True))

    @property
    def receiver_shape(self) -> tuple[int, ...]:
        """F receivers for N antennas."""
        return (self.subcarriers, self.antennas)

    @property
    def why_no_bound(self) -> str | None:
        """With priorities there is no bound: those of the subcarriers count devices."""
        if self.priorities is None:
            return None
        return "counts devices over a band: leave out priorities, required and previous"

    @property
    def entries(self) -> int:
        """Number of channel coefficients, F·N·K."""
        return int(self.channels.size)

    @property
    def each(self) -> bool:
        """Whether every subcarrier must keep the tolerance, rather than their mean."""
        return self.criterion == "each"

    @cached_property
    def required_gains(self) -> RealArray:
        """(K,) device k adds no more than ε on subcarrier f where |h_{k,f}ᴴc_f|² is at least it."""
        return self.stacked.alone_gains

    @property
    def max_error(self) -> float:
        """Tolerable computation error ε = γσ²/P."""
        return self.stacked.max_error

    def subcarrier(self, f: int) -> Problem:
        """Return subcarrier f as a problem of its own, with the same tolerance."""
        return replace(self.stacked, channels=self.channels[f]).unresolved()

    def exact(self, budget: float) -> "WidebandProblem":
        """Return the same round as if the estimates were right, with room for ``budget``."""
        return replace(self, gamma=self.stacked.reduced_gamma(budget), csi_error=0.0)

    def in_coordinates(
        self, antennas: ColumnMap, devices: ColumnMap, **changed: Any
    ) -> "WidebandProblem":
        """Return the same round in other coordinates: see :meth:`Problem.in_coordinates`."""
        channels = np.stack([antennas(devices(each)) for each in self.channels])
        return replace(self, channels=channels, **changed)

    def costs(self, receivers: ComplexArray) -> RealArray:
        r"""Return (F, K) :math:`q_k\|c_f\|^2/|h_{k,f}^H c_f|^2`, for receivers (F, N) of any norm.

        The largest over a set is :math:`E_f/\varepsilon`. A response that may be mere rounding
        costs infinitely much.
        """
        norms = np.linalg.norm(receivers, axis=1, keepdims=True)
        units = receivers / np.where(norms > 0, norms, 1.0)
        gains = np.abs(np.einsum("fnk,fn->fk", self.channels.conj(), units)) ** 2
        resolution = RESOLUTION * (self.antennas + 4)
        resolved = (resolution * np.linalg.norm(self.channels, axis=1)) ** 2
        return self._costs_of(np.where(gains >= resolved, gains, 0.0))

    def resolved(self, receivers: ComplexArray) -> MaskArray:
        """Return whose responses are more than rounding on every subcarrier, (K,)."""
        return np.asarray(np.isfinite(self.costs(receivers)).all(axis=0))

    def _costs_of(self, gains: RealArray) -> RealArray:
        """Return the required gains over ``gains`` (F, K), infinite where that cannot be told."""
        costs = np.full(gains.shape, np.inf)
        with np.errstate(over="ignore"):
            np.divide(self.required_gains, gains, out=costs, where=gains > 0)
        return costs

    def keeps(self, costs: RealArray) -> bool | MaskArray:
        """Whether costs (F, …), the largest of a set on every subcarrier, keep the tolerance."""
        compared = costs.max(axis=0) if self.each else costs.mean(axis=0)
        kept: bool | MaskArray = compared * (1 - SERVED_TOLERANCE) <= 1
        return kept

    def with_joined(self, receivers: ComplexArray, active: MaskArray) -> MaskArray:
        """Return the (K,) set with every device that ``receivers`` serve as well, cheapest first.

        A device that no receiver reaches cannot be ``active``.
        """
        costs = self.costs(receivers)
        active = active.copy()
        levels = costs[:, active].max(axis=1, initial=0.0)
        while not active.all():
            others = np.flatnonzero(~active)
            joint = np.maximum(levels[:, None], costs[:, others])
            cheapest = int(np.argmin(joint.mean(axis=0)))
            if self.each:
                cheapest = int(np.argmin(joint.max(axis=0)))
            if not self.keeps(joint[:, cheapest]):
                break
            active[others[cheapest]] = True
            levels = joint[:, cheapest]
        return active

    def easiest(self) -> tuple[ComplexArray, MaskArray]:
        """Return the matched receivers (F, N) of the device that is easiest to serve, and a set.

        That device, if it can be served at all, and all that cost no more on any subcarrier.
        """
        alone = self._costs_of(np.linalg.norm(self.channels, axis=1) ** 2)
        device = int(np.argmin(alone.max(axis=0) if self.each else alone.mean(axis=0)))
        receivers = self.channels[:, :, device].copy()
        costs = self.costs(receivers)
        active = np.all(costs <= costs[:, [device]], axis=0)
        return receivers, active & self.keeps(costs[:, device])
