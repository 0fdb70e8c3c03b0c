"""How long a solve can take at most, estimated before it begins from its algorithm and size.

For algorithms that can be quick enough to run on the event loop; of all others nothing is said.

The number of steps depends on the channels, so an estimate must hold for the slowest. Its form is
the cost that the algorithm states; its constants were fitted to bound the times of thousands of
channels made to be slow (orthogonal, of rank one, in clusters, with priorities), on one core of
2.6 GHz. ``python -m benchmarks execution`` measures how close the slowest come.
"""

import math
from collections.abc import Callable
from typing import Any

from app.scheduling.scheduler import Parameters
from app.scheduling.schedulers.all_devices import AllDevicesParameters
from app.scheduling.schedulers.dual_pursuit import DualPursuitParameters
from app.scheduling.schedulers.matching_pursuit import MatchingPursuitParameters

_OVERHEAD = 60e-6
"""Seconds outside the kernels: checks, coordination and verification of a small problem."""


def longest_seconds(parameters: Parameters, antennas: int, devices: int) -> float:
    """Return how long the algorithm with these parameters can take; infinity if not known."""
    estimate = _ESTIMATES.get(type(parameters))
    if estimate is None:
        return math.inf
    return _OVERHEAD + estimate(antennas, devices, parameters)


def _all_devices(antennas: int, devices: int, parameters: AllDevicesParameters) -> float:
    return _eigenvector(antennas) + 10e-9 * devices * antennas**2


def _matching_pursuit(antennas: int, devices: int, parameters: MatchingPursuitParameters) -> float:
    """One eigenvector for each device dropped or added; some are dropped twice."""
    steps = 2 * devices + 1 if parameters.search == "bidirectional" else devices
    return steps * (_eigenvector(antennas) + 8e-9 * devices * antennas)


def _eigenvector(antennas: int) -> float:
    return 0.3e-6 + 0.1e-6 * antennas + 0.15e-6 * antennas**2 + 0.5e-9 * antennas**3


def _dual_pursuit(antennas: int, devices: int, parameters: DualPursuitParameters) -> float:
    """Each start, with its kicks, and one polish of 10,000 visits and 20 more for each device.

    For 50 devices that can be served alone, or fewer, two and a half times as many starts are made:
    a few of many devices can take longer than all of them.
    """
    few = 100e-6 + 8e-6 * antennas
    many = 1.73e-6 * devices * (1 + devices / 60) * antennas
    polish = (10_000 + 20 * devices) * (10e-9 + 2e-9 * antennas)
    return parameters.starts * (60e-6 + max(few, many)) + polish


_ESTIMATES: dict[type, Callable[[int, int, Any], float]] = {
    AllDevicesParameters: _all_devices,
    MatchingPursuitParameters: _matching_pursuit,
    DualPursuitParameters: _dual_pursuit,
}
