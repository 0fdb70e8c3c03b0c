r"""Exhaustive search: the optimum for a few devices, by branch and bound over the sets.

The search branches on including each device or not. A branch ends when it cannot hold more value
than the best set so far (or as much value and more devices; without priorities, value and number
are the same), or when its set cannot be served: then no larger set can. Known answers are reused:
subsets of servable sets are servable, and supersets of unservable sets are not.

Sets are decided by :mod:`app.scheduling.servability` with many starts. The answer is always a
feasible schedule, and it is the optimum if every "no" is right; most of those are proven.

Cost: up to 2ᴷ decisions, usually at most a few hundred for K = 12.
"""

import numpy as np

from app.scheduling.problem import Problem
from app.scheduling.servability import Servability
from app.scheduling.types import ComplexArray, MaskArray

STARTS = 200
"""Number of starts before a set counts as unservable without proof."""


class _Search:
    """Branch and bound; a set of devices is a bit mask over the servable ones."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._servability = Servability(problem, STARTS)
        # Devices with the most to spare first: large sets are found early and prune the rest.
        devices = self._servability.devices
        gains = np.sum(np.abs(problem.channels[:, devices]) ** 2, axis=0)
        spare = gains / problem.required_gains[devices]
        self._devices = devices[np.argsort(-spare, kind="stable")]
        self._values = problem.values
        values = self._values[self._devices]
        # What the devices from each position on add to a set at most.
        self._remaining = [float(values[position:].sum()) for position in range(values.size + 1)]
        self._servable: list[int] = []
        self._unservable: list[int] = []
        self.receiver: ComplexArray = np.zeros(problem.antennas, np.complex128)
        self.active: MaskArray = np.zeros(problem.devices, np.bool_)
        self._best = (0.0, 0)

    def run(self) -> None:
        """Search all sets."""
        self._extend(0, 0.0, 0)

    def _extend(self, chosen: int, value: float, position: int) -> None:
        """Search the sets of ``chosen`` and any of the devices from ``position`` on."""
        remaining = self._devices.size - position
        most = (value + self._remaining[position], chosen.bit_count() + remaining)
        if most <= self._best or remaining == 0:
            return
        larger = chosen | 1 << position
        if self._is_servable(larger):
            own = float(self._values[self._devices[position]])
            self._extend(larger, value + own, position + 1)
        self._extend(chosen, value, position + 1)

    def _is_servable(self, chosen: int) -> bool:
        if any(chosen & known == chosen for known in self._servable):
            return True
        if any(chosen & known == known for known in self._unservable):
            return False
        members = self._devices[[bool(chosen >> i & 1) for i in range(self._devices.size)]]
        receiver = self._servability.receiver(members)
        if receiver is None:
            self._unservable.append(chosen)
            return False
        active = self._problem.served(receiver)
        self._servable.append(
            sum(1 << i for i, device in enumerate(self._devices) if active[device])
        )
        found = (float(self._values[active].sum()), int(np.count_nonzero(active)))
        if found > self._best:
            self._best = found
            self.receiver, self.active = receiver, active
        return True


def best_set(problem: Problem) -> tuple[ComplexArray, MaskArray]:
    """Return the receiver (N,) of unit norm and the set (K,) of the most value, then devices."""
    search = _Search(problem)
    search.run()
    return search.receiver, search.active


def most_value(problem: Problem) -> float:
    """Return the largest sum of ``problem.values`` that a receiver serves."""
    return problem.worth(best_set(problem)[1])


def most_devices(problem: Problem) -> int:
    """Return the most devices that a receiver serves."""
    return int(np.count_nonzero(best_set(problem)[1]))
