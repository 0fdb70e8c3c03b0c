r"""Random, round robin, proportional fair: choose an order, then a receiver.

The classical policies of H. H. Yang, Z. Liu, T. Q. S. Quek, H. V. Poor, *Scheduling Policies for
Federated Learning in Wireless Networks*, IEEE Transactions on Communications 68(1), 2020, for sums
over the air. Each orders the devices without regard to the receiver:

random
    All orders are equally likely; the seed of the request decides which.
round_robin
    By index, from the device ``start`` on, wrapping around. The service keeps no state between
    rounds: the caller advances ``start``.
proportional_fair
    By :math:`\|h_k\|^2` relative to its average so far, largest ratio first. Without averages, as
    in a first round, the strongest channel comes first.

The schedule is the longest prefix of the order that one receiver serves, and nobody after it,
served or not. Devices that no receiver serves even alone are skipped: they would end the prefix for
everyone. A subset of a servable set is servable, so bisection finds the length.
:mod:`app.scheduling.servability` decides what can be served, and says how certain that is.

Cost: log₂ K decisions, each O(N³ + KN² + K²N + K³) times 5 to 40.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Ge, Interval

from app.scheduling.any_problem import InvalidProblemError
from app.scheduling.lifted import MAX_DEVICES
from app.scheduling.problem import Problem
from app.scheduling.scheduler import (
    Context,
    InvalidParameterError,
    Parameters,
    Scheduler,
    Selection,
)
from app.scheduling.servability import Servability
from app.scheduling.types import ComplexArray, IndexArray

_REFERENCE = (
    "Yang et al., Scheduling Policies for Federated Learning in Wireless Networks, IEEE "
    "Transactions on Communications 68(1), 2020"
)

_LEAST, _MOST = 1e-60, 1e60
"""Bounds of an average gain: the squares of those of a channel."""


@dataclass(frozen=True)
class RandomParameters(Parameters):
    """Random scheduling has no parameters; its order follows from the seed."""


@dataclass(frozen=True)
class RoundRobinParameters(Parameters):
    """Parameters of round robin.

    Parameters
    ----------
    start
        The device that comes first, modulo the number of devices.
    """

    start: Annotated[int, Ge(0)] = 0


@dataclass(frozen=True)
class ProportionalFairParameters(Parameters):
    """Parameters of proportional fair scheduling.

    Parameters
    ----------
    average_gains
        ‖h_k‖² averaged over the rounds so far, positive, one per device; all equal if None.
    """

    average_gains: Sequence[Annotated[float, Interval(ge=_LEAST, le=_MOST)]] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.average_gains is None:
            return
        # The request brings a list; a frozen object needs a tuple.
        object.__setattr__(self, "average_gains", tuple(self.average_gains))
        if not all(_LEAST <= gain <= _MOST for gain in self.average_gains):
            raise InvalidParameterError(f"average_gains must be positive, {_LEAST} to {_MOST}")


def select_random(problem: Problem, parameters: RandomParameters, context: Context) -> Selection:
    """Schedule the longest prefix of a random order."""
    order = np.random.default_rng(context.seed).permutation(problem.devices)
    return _longest_prefix(problem, order)


def select_round_robin(
    problem: Problem, parameters: RoundRobinParameters, context: Context
) -> Selection:
    """Schedule the longest prefix of the devices from ``start`` on."""
    start = parameters.start % problem.devices
    order = np.roll(np.arange(problem.devices), -start)
    return _longest_prefix(problem, order)


def select_proportional_fair(
    problem: Problem, parameters: ProportionalFairParameters, context: Context
) -> Selection:
    """Schedule the longest prefix by current over average gain."""
    gains = np.sum(np.abs(problem.channels) ** 2, axis=0)
    if parameters.average_gains is not None:
        averages = np.array(parameters.average_gains, dtype=np.float64)
        if averages.size != problem.devices:
            raise InvalidProblemError(
                "algorithm",
                f"average_gains must be {problem.devices} numbers, one for each device, "
                f"not {averages.size}",
            )
        gains = gains / averages
    return _longest_prefix(problem, np.argsort(-gains, kind="stable"))


def _longest_prefix(problem: Problem, order: IndexArray) -> Selection:
    """Find the longest prefix of ``order`` that one receiver serves, by bisection."""
    servability = Servability(problem)
    order = order[np.isin(order, servability.devices)]
    receiver: ComplexArray = np.zeros(problem.antennas, np.complex128)
    length, too_long, decisions = 0, order.size + 1, 0
    while too_long - length > 1:
        tried = (length + too_long) // 2
        decisions += 1
        found = servability.receiver(order[:tried])
        if found is None:
            too_long = tried
        else:
            receiver = found
            served = problem.served(found)[order]
            # Devices next in order that happen to be served extend the prefix at no cost.
            length = tried + int(np.logical_and.accumulate(served[tried:]).sum())
    active = np.zeros(problem.devices, np.bool_)
    active[order[:length]] = True
    return Selection(receiver, active, decisions)


SCHEDULERS = (
    Scheduler(
        name="random",
        summary="Serves the longest prefix of a random order.",
        reference=_REFERENCE,
        parameters=RandomParameters,
        select=select_random,
        symmetric=False,
        pace="slow",
        max_devices=MAX_DEVICES,
    ),
    Scheduler(
        name="round_robin",
        summary="Serves the longest prefix of the devices in turn, from a given one on.",
        reference=_REFERENCE,
        parameters=RoundRobinParameters,
        select=select_round_robin,
        symmetric=False,
        pace="slow",
        max_devices=MAX_DEVICES,
    ),
    Scheduler(
        name="proportional_fair",
        summary="Serves the longest prefix of the devices by current over average gain.",
        reference=_REFERENCE,
        parameters=ProportionalFairParameters,
        select=select_proportional_fair,
        pace="slow",
        max_devices=MAX_DEVICES,
    ),
)
