r"""The scheduling problem with a reflecting surface, frozen and checked.

Element m of the surface shifts what it reflects by a phase :math:`\mu_m`, so device k's channel is

.. math:: h_k(\mu) = h_k^0 + T \operatorname{diag}(g_k)\,\mu, \qquad
    H(\mu) = H^0 + T \operatorname{diag}(\mu)\,G .

Maximise :math:`|S|` over :math:`\mu`, the receiver :math:`c` and the set :math:`S` subject to
:math:`|\mu_m| = 1` and :math:`\phi_k^2\|c\|^2 \le \gamma|h_k(\mu)^H c|^2` for all :math:`k \in S`.
With priorities :math:`v_k`, maximise :math:`\sum_{k\in S} v_k` instead.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from app.scheduling.any_problem import AnyProblem, InvalidProblemError
from app.scheduling.irs.phases import PhaseGrid
from app.scheduling.kernels.formulas import RESOLUTION
from app.scheduling.kernels.surface.phases import Surface, tuned_channels
from app.scheduling.problem import LARGEST, Problem, frozen
from app.scheduling.types import ColumnMap, ComplexArray, IndexArray, RealArray

MAX_PHASE_BITS = 16
"""Finer phases are indistinguishable from continuous ones."""

MODULUS_TOLERANCE = 1e-6
"""How far the modulus of a given phase may be from one: single precision, rounded in text."""


@dataclass(frozen=True, eq=False)
class IrsProblem(AnyProblem):
    """One round with a reflecting surface.

    Parameters
    ----------
    direct
        (N, K) complex H⁰: the channels past the surface, column k is device k's.
    irs_to_server
        (N, M) complex T: column m is element m's channel to the antennas.
    devices_to_irs
        (M, K) complex G: column k is device k's channel to the elements.
    weights, gamma, power, noise_variance
        As for :class:`app.scheduling.problem.Problem`.
    csi_error
        (K,) or one number for all: bound on the error of the tuned channel h_k(μ).
    phase_bits
        The phases are multiples of 2π/2^bits; None for any.
    initial_phases
        (M,) complex, of unit modulus: where algorithms start; all 1 if None. They are rounded to
        the grid of ``phase_bits`` and normalised to a modulus of exactly one.
    priorities
        As for :class:`app.scheduling.problem.Problem`.

    Raises
    ------
    InvalidProblemError
        A shape or value is invalid; the error names the argument.
    """

    direct: ComplexArray
    irs_to_server: ComplexArray
    devices_to_irs: ComplexArray
    weights: RealArray
    gamma: float
    power: float = 1.0
    noise_variance: float = 1.0
    csi_error: RealArray | float = 0.0
    phase_bits: int | None = None
    initial_phases: ComplexArray | None = None
    priorities: RealArray | None = None

    without_surface: Problem = field(init=False, repr=False)
    """The same round as if there were no surface."""

    errors: RealArray = field(init=False, repr=False)
    uncertain: bool = field(init=False, repr=False)
    """As for a problem without a surface, of the tuned channels."""

    order: IndexArray = field(init=False, repr=False)
    """(M,) the elements from the strongest ‖t_m‖‖g_m‖ to the weakest.

    Every loop over the elements uses this order, so the order in which they are given does not
    matter.
    """

    reflects: bool = field(init=False, repr=False)
    """Whether the phases affect the channels at all."""

    def __post_init__(self) -> None:
        without_surface = self._without_surface()
        antennas, devices = without_surface.antennas, without_surface.devices
        to_server = frozen("irs_to_server", self.irs_to_server, np.complex128)
        if to_server.ndim != 2 or to_server.shape[0] != antennas or to_server.size == 0:
            raise InvalidProblemError(
                "irs_to_server",
                f"must be {antennas} antennas × at least one element, as direct has {antennas} "
                f"antennas, not of the shape {list(to_server.shape)}",
            )
        elements = to_server.shape[1]
        to_surface = frozen("devices_to_irs", self.devices_to_irs, np.complex128)
        if to_surface.shape != (elements, devices):
            raise InvalidProblemError(
                "devices_to_irs",
                f"must be {elements} elements × {devices} devices, as irs_to_server has {elements} "
                f"elements and direct {devices} devices, not of the shape "
                f"{list(to_surface.shape)}",
            )
        for name, matrix in (("irs_to_server", to_server), ("devices_to_irs", to_surface)):
            if not np.abs(matrix.view(np.float64)).max() <= LARGEST:
                raise InvalidProblemError(
                    name, f"must be finite, and at most {LARGEST:g} in magnitude; rescale it"
                )
        # An upper bound on every entry of H(μ), for any phases.
        reflected = np.abs(to_server).max(axis=0) @ np.abs(to_surface).max(axis=1)
        if not reflected + np.abs(without_surface.channels).max() <= LARGEST:
            raise InvalidProblemError(
                "devices_to_irs",
                f"what is reflected, with irs_to_server and direct, must stay below {LARGEST:g} in "
                "magnitude; rescale them",
            )
        if self.phase_bits is not None and not 1 <= self.phase_bits <= MAX_PHASE_BITS:
            raise InvalidProblemError(
                "phase_bits", f"must be 1 to {MAX_PHASE_BITS}, or none for continuous phases"
            )
        strengths = np.linalg.norm(to_server, axis=0) * np.linalg.norm(to_surface, axis=1)
        object.__setattr__(self, "direct", without_surface.channels)
        object.__setattr__(self, "irs_to_server", to_server)
        object.__setattr__(self, "devices_to_irs", to_surface)
        object.__setattr__(self, "weights", without_surface.weights)
        object.__setattr__(self, "csi_error", without_surface.csi_error)
        object.__setattr__(self, "priorities", without_surface.priorities)
        object.__setattr__(self, "without_surface", without_surface)
        object.__setattr__(self, "errors", without_surface.errors)
        object.__setattr__(self, "uncertain", without_surface.uncertain)
        object.__setattr__(self, "order", np.argsort(-strengths, kind="stable"))
        object.__setattr__(self, "reflects", bool(strengths.any()))
        object.__setattr__(self, "initial_phases", self._start(elements))

    def _without_surface(self) -> Problem:
        try:
            return Problem(
                self.direct,
                self.weights,
                self.gamma,
                self.power,
                self.noise_variance,
                self.csi_error,
                self.priorities,
            )
        except InvalidProblemError as error:
            if error.field != "channels":
                raise
            raise InvalidProblemError("direct", error.message) from None

    def _start(self, elements: int) -> ComplexArray:
        if self.initial_phases is None:
            start: ComplexArray = np.ones(elements, np.complex128)
        else:
            start = np.array(self.initial_phases, np.complex128)
            if start.shape != (elements,):
                raise InvalidProblemError(
                    "initial_phases",
                    f"must be {elements} phases, one for each element, not {start.size}",
                )
            if not np.abs(np.abs(start) - 1).max() <= MODULUS_TOLERANCE:
                raise InvalidProblemError(
                    "initial_phases", f"must have a modulus of 1, within {MODULUS_TOLERANCE:g}"
                )
            if not self.grid.holds(start):
                start = self.grid.nearest(start)
        start.flags.writeable = False
        return start

    @property
    def sizes(self) -> Mapping[str, int]:
        """Numbers of antennas N, devices K and elements M."""
        return {**self.without_surface.sizes, "elements": self.elements}

    @property
    def elements(self) -> int:
        """Number of reflecting elements M."""
        return int(self.irs_to_server.shape[1])

    @property
    def entries(self) -> int:
        """Number of channel coefficients."""
        return self.direct.size + self.irs_to_server.size + self.devices_to_irs.size

    @cached_property
    def required_gains(self) -> RealArray:
        """(K,) the gain that each device needs, whatever the phases."""
        # The largest of ``Problem.resolved_gains`` that any phases lead to.
        resolved = (RESOLUTION * (self.antennas + 4) * self.reach) ** 2
        gains = np.maximum(self.without_surface.required_gains, resolved)
        gains.flags.writeable = False
        return gains

    @cached_property
    def reach(self) -> RealArray:
        """(K,) what no ‖h_k(μ)‖ exceeds, whatever the phases, by the triangle inequality."""
        reflected = np.linalg.norm(self.irs_to_server, axis=0) @ np.abs(self.devices_to_irs)
        return np.asarray(np.linalg.norm(self.direct, axis=0) + reflected)

    @property
    def grid(self) -> PhaseGrid:
        """The phases that are allowed."""
        return PhaseGrid(self.phase_bits)

    def exact(self, budget: float) -> "IrsProblem":
        """Return the same round as if the estimates were right, with room for ``budget``."""
        gamma = self.without_surface.reduced_gamma(budget)
        return replace(self, gamma=gamma, csi_error=0.0)

    def start(self) -> ComplexArray:
        """Return a copy of the initial phases (M,), for an algorithm to change."""
        return np.array(self.initial_phases)

    @cached_property
    def surface(self) -> Surface:
        """The channels as the kernels take them; kernels only read them."""
        return Surface(
            self.direct.real.copy(),
            self.direct.imag.copy(),
            np.array(self.irs_to_server),
            self.devices_to_irs.real.copy(),
            self.devices_to_irs.imag.copy(),
            self.devices_to_irs.T.real.copy(),
            self.devices_to_irs.T.imag.copy(),
            np.array(self.order),
            self.grid.levels,
        )

    def starting_at(self, phases: ComplexArray | None) -> "IrsProblem":
        """Return the same round with other initial phases."""
        return replace(self, initial_phases=phases)

    def allows(self, phases: ComplexArray | None) -> bool:
        """Return whether there is an allowed phase for every element, or zeros: it is unused."""
        if phases is None or phases.shape != (self.elements,):
            return False
        return self.grid.holds(phases) or not phases.any()

    def columns(self, antennas: ColumnMap, devices: ColumnMap) -> ComplexArray:
        """Return columns (N, …) that span all channels there can be in other coordinates."""
        return np.hstack([antennas(devices(self.direct)), antennas(self.irs_to_server)])

    def in_coordinates(
        self, antennas: ColumnMap, devices: ColumnMap, **changed: Any
    ) -> "IrsProblem":
        """Return the same round in other coordinates: see :meth:`Problem.in_coordinates`."""
        return replace(
            self,
            direct=antennas(devices(self.direct)),
            irs_to_server=antennas(self.irs_to_server),
            devices_to_irs=devices(self.devices_to_irs),
            **changed,
        )

    def tuned(self, phases: ComplexArray | None) -> Problem:
        """Return the problem without a surface that ``phases`` (M,), or the initial ones, give."""
        channels = tuned_channels(self.surface, self.start() if phases is None else phases)
        channels.flags.writeable = False
        return replace(self.without_surface, channels=channels)
