r"""The phases of a surface: the allowed values, and the policies that tune them.

A policy is the :math:`\mathcal P` of the paper's Algorithm 2: for a receiver and weights it looks
for the channel parameters that maximise :math:`c^H H(\mu) W H(\mu)^H c`. The policies are
implemented in :mod:`app.scheduling.kernels.surface.phases`. A new one takes a branch of
``update_phases`` there and a name here. A new parametrisation of the channel takes its own
``Surface``, ``tuned_channels`` and ``update_phases``; the pursuit stays the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

from app.scheduling.kernels.surface.phases import BCD, MM
from app.scheduling.types import ComplexArray

PhaseUpdate = Literal["mm", "bcd"]

POLICIES: Mapping[PhaseUpdate, int] = MappingProxyType({"mm": MM, "bcd": BCD})
"""The policies by name."""

_ROUNDING = 1e-12


@dataclass(frozen=True)
class PhaseGrid:
    """The phases that an element can have.

    Parameters
    ----------
    bits
        The phases are the multiples of 2π/2^bits; None for continuous ones.
    """

    bits: int | None

    @property
    def levels(self) -> int:
        """Number of phases, 0 if continuous."""
        return 0 if self.bits is None else 1 << self.bits

    def nearest(self, values: ComplexArray) -> ComplexArray:
        """Return the allowed phase closest to that of each of ``values``; 1 for a zero."""
        angles = np.angle(values)
        if self.bits is not None:
            step = 2 * np.pi / self.levels
            angles = step * np.round(angles / step)
        return np.asarray(np.exp(1j * angles))

    def random(self, rng: np.random.Generator, count: int) -> ComplexArray:
        """Draw ``count`` allowed phases, all equally likely."""
        turns = rng.random(count)
        if self.bits is not None:
            turns = np.floor(turns * self.levels) / self.levels
        return np.asarray(np.exp(2j * np.pi * turns))

    def holds(self, phases: ComplexArray) -> bool:
        """Return whether all ``phases`` are allowed, up to rounding."""
        return bool(np.abs(phases - self.nearest(phases)).max() <= _ROUNDING)
