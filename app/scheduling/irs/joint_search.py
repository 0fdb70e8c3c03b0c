r"""The search of dual pursuit with a surface: the best schedule so far, and what improves it.

With continuous phases :mod:`app.scheduling.kernels.surface.dual_search` adds devices to a set, and
drops others. On a grid of phases the set is *grown*: the devices that it just misses are added,
nearest misses first, an eighth of them at a time, then half as many, down to one. For the larger
set the receiver and the phases are improved in turn
(:mod:`app.scheduling.kernels.surface.level`). If devices of more value are served than before, it
continues from there; after a few devices in a row that cannot join, it ends.
"""

from dataclasses import replace

import numpy as np

from app.scheduling.irs.phases import POLICIES
from app.scheduling.irs.problem import IrsProblem
from app.scheduling.kernels.formulas import ENOUGH_MAGNITUDE
from app.scheduling.kernels.surface.algorithm_2 import joint_pursuit
from app.scheduling.kernels.surface.dual_search import joint_dual_pursuit
from app.scheduling.kernels.surface.level import raise_level
from app.scheduling.kernels.surface.phases import Surface, tuned_channels
from app.scheduling.scheduler import Context, Selection
from app.scheduling.schedulers import dual_pursuit
from app.scheduling.types import ComplexArray, IndexArray, MaskArray, RealArray

DELTA = 0.55
"""δ of Algorithm 2: its default."""

BATCH = 8
"""On a grid, one in this many of the devices that could join is tried at a time."""

FAILURES = 8
"""On a grid, growing ends after this many devices in a row that cannot join."""

ALTERNATIONS, LAST_ALTERNATIONS = 20, 100
"""Limits on alternations for one attempt, and for the final improvement."""

LARGEST_LEVEL = 1e6
"""Channels of devices that could reach more than this multiple of their need are shortened to it.

This asks slightly more of them than needed, at most a millionth of what they could reach.
"""


class JointSearch:
    """The best schedule so far, and the steps that improve it."""

    def __init__(self, problem: IrsProblem, context: Context) -> None:
        self._problem = problem
        self._context = context
        self._scaled, reach = scaled_surface(problem)
        self._servable: MaskArray = reach >= ENOUGH_MAGNITUDE
        self._values = problem.values
        self._random = np.random.default_rng(context.seed).bit_generator.random_raw(1)
        self.iterations = 0
        self.receiver: ComplexArray = np.zeros(problem.antennas, np.complex128)
        self.phases = problem.start()
        self.served: MaskArray = np.zeros(problem.devices, np.bool_)

    @property
    def ended(self) -> bool:
        """Whether all devices that any phases could serve are served, or the deadline passed."""
        return bool(self._context.stop[0] or self.served[self._servable].all())

    def untuned(self, phases: ComplexArray, receiver: ComplexArray | None) -> Selection:
        """Run dual pursuit for these phases, from this receiver, and keep the best result."""
        context = replace(self._context, warm_start=receiver)
        tuned = self._problem.tuned(phases)
        found = dual_pursuit.select(tuned, dual_pursuit.DualPursuitParameters(), context)
        self.iterations += found.iterations
        self._consider(found.receiver, phases)
        return found

    def algorithm_2(self) -> tuple[ComplexArray, ComplexArray]:
        """Run Algorithm 2 with every policy, and return the phases and receiver of the best."""
        surface = self._problem.surface
        most, best = -1.0, (self.phases, self.receiver)
        for policy in POLICIES.values():
            phases = self._problem.start()
            receiver, _, iterations, _ = joint_pursuit(
                surface,
                self._problem.required_gains,
                self._values,
                DELTA,
                policy,
                phases,
                self._context.stop,
            )
            self.iterations += iterations
            worth = self._consider(receiver, phases)
            if worth > most:
                most, best = worth, (phases, receiver)
            if self.ended:
                break
        return best

    def improve(self, receiver: ComplexArray, phases: ComplexArray) -> None:
        """Search for more value than ``receiver`` serves with these ``phases``."""
        if self._problem.phase_bits is not None:
            self.grow(receiver, phases)
            return
        receiver, phases = receiver / np.linalg.norm(receiver), phases.copy()
        self.iterations += joint_dual_pursuit(
            self._scaled,
            self._servable,
            self._values,
            receiver,
            phases,
            self._random,
            self._context.stop,
        )
        self._consider(receiver, phases)

    def grow(self, receiver: ComplexArray, phases: ComplexArray) -> None:
        """Add as many devices as possible to those that ``receiver`` serves, and drop none."""
        levels = self._levels(receiver, phases)
        batch = max(1, int(np.count_nonzero((levels < ENOUGH_MAGNITUDE) & self._servable)) // BATCH)
        failures = 0
        while failures < FAILURES and not self._context.stop[0]:
            members = np.flatnonzero(levels >= ENOUGH_MAGNITUDE)
            missed = np.flatnonzero((levels < ENOUGH_MAGNITUDE) & self._servable)
            nearest = missed[np.argsort(-levels[missed], kind="stable")]
            joining = nearest[failures : failures + batch]
            if joining.size == 0:
                break
            trial, trial_phases = receiver.copy(), phases.copy()
            self._raise(np.append(members, joining), trial, trial_phases, 1.0, ALTERNATIONS)
            found = self._levels(trial, trial_phases)
            if self._worth(found >= ENOUGH_MAGNITUDE) > self._worth(levels >= ENOUGH_MAGNITUDE):
                receiver, phases, levels, failures = trial, trial_phases, found, 0
            elif batch > 1:
                batch //= 2
            else:
                failures += 1
        self._consider(receiver, phases)

    def raise_level(self) -> None:
        """Raise the level of the best set as far as possible."""
        receiver, phases = self.receiver.copy(), self.phases.copy()
        members = np.flatnonzero(self.served)
        self._raise(members, receiver, phases, np.inf, LAST_ALTERNATIONS)
        served = self._problem.tuned(phases).served(receiver)
        if served[members].all():
            self.receiver, self.phases, self.served = receiver, phases, served

    def _raise(
        self,
        members: IndexArray,
        receiver: ComplexArray,
        phases: ComplexArray,
        target: float,
        most: int,
    ) -> None:
        self.iterations += raise_level(
            self._scaled, members, receiver, phases, target, most, self._context.stop
        )

    def _levels(self, receiver: ComplexArray, phases: ComplexArray) -> RealArray:
        """Return |h_k(μ)ᴴc|/‖c‖ relative to what each device needs (K,)."""
        responses = receiver.conj() @ tuned_channels(self._scaled, phases)
        return np.asarray(np.abs(responses) / np.linalg.norm(receiver))

    def _consider(self, receiver: ComplexArray, phases: ComplexArray) -> float:
        """Keep this if it serves more than the best so far; return the value that it serves."""
        unit = receiver / np.linalg.norm(receiver)
        served = self._problem.tuned(phases).served(unit)
        worth = self._worth(served)
        if worth > self._worth(self.served):
            self.receiver, self.phases, self.served = unit, phases.copy(), served
        return worth

    def _worth(self, devices: MaskArray) -> float:
        return float(self._values[devices].sum())


def scaled_surface(problem: IrsProblem) -> tuple[Surface, RealArray]:
    """Return the channels relative to each device's need, and the most any phases could reach."""
    factors = 1.0 / np.maximum(np.sqrt(problem.required_gains), problem.reach / LARGEST_LEVEL)
    surface = problem.surface
    scaled = surface._replace(
        direct_real=surface.direct_real * factors,
        direct_imag=surface.direct_imag * factors,
        to_surface_real=surface.to_surface_real * factors,
        to_surface_imag=surface.to_surface_imag * factors,
        by_device_real=surface.by_device_real * factors[:, None],
        by_device_imag=surface.by_device_imag * factors[:, None],
    )
    return scaled, problem.reach * factors
