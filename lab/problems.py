"""Problems: the settings of the paper, one with a surface, and random ones that vary everything."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np

from airsched_client.federated.channels import Network, NetworkParameters
from airsched_client.federated.partition import (
    PartitionParameters,
    aggregation_weights,
    data_sizes,
)
from airsched_client.federated.traces import Trace
from app.scheduling import IrsProblem, Problem
from app.scheduling.types import ComplexArray, RealArray
from app.scheduling.wideband.problem import Criterion, WidebandProblem
from lab.channels import BESIDE_SERVER, iid_band, iid_channels, irs_channels

_UMI = Path(__file__).parents[1] / "examples" / "sionna" / "umi.npz"


def iid_problems(
    count: int, antennas: int, devices: int, gamma_db: float, seed: int = 0
) -> list[Problem]:
    """Return ``count`` problems with independent channels and unit weights, the same every time."""
    rng = np.random.default_rng(seed)
    return [
        Problem(iid_channels(rng, antennas, devices), np.ones(devices), 10 ** (gamma_db / 10))
        for _ in range(count)
    ]


def network_problems(
    count: int, antennas: int, devices: int, gamma_db: float, seed: int = 0
) -> list[Problem]:
    """Return ``count`` rounds of the paper's network, the same every time.

    Each has its own places, fading and data sizes; weights have mean one.
    """
    parameters = NetworkParameters(devices=devices, antennas=antennas)
    gamma = 10 ** (gamma_db / 10)
    return [
        Problem(channels, weights, gamma)
        for channels, weights in _network_rounds(count, parameters, seed)
    ]


def _network_rounds(
    count: int, parameters: NetworkParameters, seed: int
) -> Iterator[tuple[ComplexArray, RealArray]]:
    """Yield the channels and weights of independent rounds."""
    for index in range(count):
        rng = np.random.default_rng([seed, index])
        channels = Network(parameters, rng).fade(rng).direct
        sizes = data_sizes(50_000, parameters.devices, PartitionParameters(), rng)
        yield channels, aggregation_weights(sizes)


def umi_problems(
    count: int, antennas: int, devices: int, gamma_db: float, seed: int = 0
) -> list[Problem]:
    """Return rounds of the recorded 3GPP trace, evenly spread, with unit weights.

    It holds 200 rounds of 6 antennas and 20 devices, and nothing is drawn: the seed has no effect.
    """
    trace = Trace.open(_UMI)
    if (antennas, devices) != (trace.antennas, trace.devices) or count > len(trace):
        raise ValueError(
            f"the trace has {len(trace)} rounds of {trace.antennas} antennas and"
            f" {trace.devices} devices"
        )
    numbers = np.arange(count) * len(trace) // count
    gamma = 10 ** (gamma_db / 10)
    return [Problem(trace.at(n).direct, np.ones(devices), gamma) for n in numbers.tolist()]


ChannelModel = Literal["iid", "network", "umi"]
_BY_MODEL: dict[ChannelModel, Callable[[int, int, int, float, int], list[Problem]]] = {
    "iid": iid_problems,
    "network": network_problems,
    "umi": umi_problems,
}


def problems_of(
    model: ChannelModel, count: int, antennas: int, devices: int, gamma_db: float, seed: int = 0
) -> list[Problem]:
    """Return ``count`` problems with the channels of a model, the same every time."""
    return _BY_MODEL[model](count, antennas, devices, gamma_db, seed)


def irs_problems(
    count: int,
    elements: int,
    gamma_db: float,
    seed: int = 0,
    *,
    phase_bits: int | None = None,
    place: RealArray = BESIDE_SERVER,
) -> list[IrsProblem]:
    """Return ``count`` problems with a surface, K = 20, N = 6, unit weights, the same every time.

    The channels are those of :func:`lab.channels.irs_channels`.
    """
    rng = np.random.default_rng(seed)
    gamma = 10 ** (gamma_db / 10)
    return [
        IrsProblem(*channels, np.ones(20), gamma, phase_bits=phase_bits)
        for channels in (irs_channels(rng, 6, 20, elements, place) for _ in range(count))
    ]


def iid_irs_problems(
    count: int,
    elements: int,
    gamma_db: float,
    seed: int = 0,
    *,
    antennas: int = 6,
    devices: int = 20,
) -> list[IrsProblem]:
    """Return ``count`` problems with a surface, all links independent, the same every time.

    Unit weights. The devices' links to the surface are 16 dB weaker than the others, so 32 elements
    with random phases add 0.7 times the power of the direct channels.
    """
    rng = np.random.default_rng(seed)
    return [
        IrsProblem(
            iid_channels(rng, antennas, devices),
            iid_channels(rng, antennas, elements),
            0.15 * iid_channels(rng, elements, devices),
            np.ones(devices),
            10 ** (gamma_db / 10),
        )
        for _ in range(count)
    ]


def band_problems(
    count: int,
    subcarriers: int,
    antennas: int,
    devices: int,
    gamma_db: float,
    seed: int = 0,
    *,
    taps: int = 4,
    criterion: Criterion = "mean",
) -> list[WidebandProblem]:
    """Return ``count`` bands with independent taps and unit weights, the same every time."""
    rng = np.random.default_rng(seed)
    gamma = 10 ** (gamma_db / 10)
    return [
        WidebandProblem(
            iid_band(rng, subcarriers, antennas, devices, taps),
            np.ones(devices),
            gamma,
            criterion=criterion,
        )
        for _ in range(count)
    ]


def network_band_problems(
    count: int,
    subcarriers: int,
    antennas: int,
    devices: int,
    gamma_db: float,
    seed: int = 0,
    *,
    taps: int = 4,
    criterion: Criterion = "mean",
) -> list[WidebandProblem]:
    """Return ``count`` bands of the paper's network, the same every time; weights of mean one."""
    parameters = NetworkParameters(
        devices=devices, antennas=antennas, subcarriers=subcarriers, taps=taps
    )
    gamma = 10 ** (gamma_db / 10)
    return [
        WidebandProblem(channels, weights, gamma, criterion=criterion)
        for channels, weights in _network_rounds(count, parameters, seed)
    ]


def random_problem(
    rng: np.random.Generator, max_devices: int | None = None, **fixed: Any
) -> Problem:
    """Return any size from 1×1, 30 dB of path loss, unequal weights, any tolerance that matters.

    Parameters
    ----------
    max_devices
        Upper limit on K; at most 24 in any case.
    fixed
        Arguments of :class:`Problem` that are not drawn.
    """
    antennas = int(rng.integers(1, 9))
    devices = int(rng.integers(1, 1 + min(24, max_devices or 24)))
    channels = iid_channels(rng, antennas, devices) * 10 ** rng.uniform(-1.5, 0, devices)
    arguments: dict[str, Any] = {
        "channels": channels,
        "weights": 10 ** rng.uniform(-0.5, 0.5, devices),
        "gamma": 10 ** rng.uniform(-1, 2.5),
        "power": 10 ** rng.uniform(-1, 1),
        "noise_variance": 10 ** rng.uniform(-1, 1),
        **fixed,
    }
    return Problem(**arguments)


def random_irs_problem(
    rng: np.random.Generator, max_devices: int | None = None, **fixed: Any
) -> IrsProblem:
    """As :func:`random_problem`, with a surface anywhere from weak to dominant."""
    plain = random_problem(rng, max_devices)
    elements = int(rng.integers(1, 13))
    arguments: dict[str, Any] = {
        "direct": plain.channels,
        "irs_to_server": iid_channels(rng, plain.antennas, elements),
        "devices_to_irs": iid_channels(rng, elements, plain.devices)
        * 10 ** rng.uniform(-1.5, 0, plain.devices),
        "weights": plain.weights,
        "gamma": plain.gamma,
        "power": plain.power,
        "noise_variance": plain.noise_variance,
        "phase_bits": [None, None, 1, 2, 3][rng.integers(5)],
        **fixed,
    }
    return IrsProblem(**arguments)


def random_wideband_problem(
    rng: np.random.Generator, max_devices: int | None = None, **fixed: Any
) -> WidebandProblem:
    """As :func:`random_problem`, over a band from flat to selective, with either criterion."""
    plain = random_problem(rng, max_devices)
    subcarriers, taps = int(rng.integers(1, 7)), int(rng.integers(1, 7))
    amplitudes = 10 ** rng.uniform(-1.5, 0, plain.devices)
    arguments: dict[str, Any] = {
        "channels": amplitudes * iid_band(rng, subcarriers, plain.antennas, plain.devices, taps),
        "weights": plain.weights,
        "gamma": plain.gamma,
        "power": plain.power,
        "noise_variance": plain.noise_variance,
        "criterion": ["mean", "each"][rng.integers(2)],
        **fixed,
    }
    return WidebandProblem(**arguments)
