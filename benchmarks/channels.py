"""Channels for the benchmarks."""

import numpy as np

from airsched_client.federated.channels import Network, NetworkParameters
from airsched_client.federated.partition import (
    PartitionParameters,
    aggregation_weights,
    data_sizes,
)
from app.scheduling import IrsProblem, Problem
from app.scheduling.types import ComplexArray, RealArray


def iid_channels(rng: np.random.Generator, antennas: int, devices: int) -> ComplexArray:
    """Return independent CN(0, 1) entries, (N, K)."""
    shape = (antennas, devices)
    entries = rng.standard_normal((2, *shape)) / np.sqrt(2)
    return np.asarray(entries[0] + 1j * entries[1])


def iid_problems(
    count: int, antennas: int, devices: int, gamma_db: float, seed: int = 0
) -> list[Problem]:
    """Return ``count`` problems with unit weights, the same ones at every call."""
    rng = np.random.default_rng(seed)
    return [
        Problem(iid_channels(rng, antennas, devices), np.ones(devices), 10 ** (gamma_db / 10))
        for _ in range(count)
    ]


def network_problems(
    count: int, antennas: int, devices: int, gamma_db: float, seed: int = 0
) -> list[Problem]:
    """Return ``count`` rounds of the paper's network, the same at every call.

    Each has its own places, fading and data sizes; weights have mean one.
    """
    problems = []
    for index in range(count):
        rng = np.random.default_rng([seed, index])
        parameters = NetworkParameters(devices=devices, antennas=antennas)
        channels = Network(parameters, rng).fade(rng).direct
        weights = aggregation_weights(data_sizes(50_000, devices, PartitionParameters(), rng))
        problems.append(Problem(channels, weights, 10 ** (gamma_db / 10)))
    return problems


SERVER = np.array([0.0, 0.0])
BESIDE_SERVER, AMID_DEVICES = np.array([0.0, 10.0]), np.array([50.0, 10.0])
"""Where the surface may be."""
DEVICES = np.array([50.0, 0.0])
RADIUS = 10.0
OBSTRUCTED, CLEAR = 4.0, 2.2
"""Path-loss exponents past the surface and over it."""
REFERENCE_LOSS = 1e-3
"""Path loss at one metre."""
RICIAN = 10**0.5
"""Power along the line of sight over the scattered power, 5 dB."""


def irs_problems(
    count: int,
    elements: int,
    gamma_db: float,
    seed: int = 0,
    *,
    phase_bits: int | None = None,
    place: RealArray = BESIDE_SERVER,
) -> list[IrsProblem]:
    """Return ``count`` problems with K = 20, N = 6 and unit weights, the same at every call.

    The server is at the origin, a surface of ``elements`` beside it at (0, 10 m) unless another
    ``place`` is given, the devices are uniform in a disc of 10 m around (50 m, 0). Server and
    surface are uniform linear arrays along the first axis, half a wavelength apart. The direct
    channels are Rayleigh with an exponent of 4 (obstructed), those to and from the surface Rician
    with 5 dB and an exponent of 2.2; 30 dB are lost at one metre. All is divided by the amplitude
    of a direct channel at 50 m, so that γ is relative to it.
    """
    rng = np.random.default_rng(seed)
    gamma = 10 ** (gamma_db / 10)
    return [
        IrsProblem(*channels, np.ones(20), gamma, phase_bits=phase_bits)
        for channels in (irs_channels(rng, 6, 20, elements, place) for _ in range(count))
    ]


def irs_channels(
    rng: np.random.Generator, antennas: int, devices: int, elements: int, surface: RealArray
) -> tuple[ComplexArray, ComplexArray, ComplexArray]:
    """Return H⁰ (N, K), T (N, M) and G (M, K) of :func:`irs_problems`."""
    angles = rng.uniform(0, 2 * np.pi, devices)
    radii = RADIUS * np.sqrt(rng.random(devices))
    places = DEVICES + np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=1)
    unit = np.sqrt(REFERENCE_LOSS * 50.0**-OBSTRUCTED)
    direct = iid_channels(rng, antennas, devices) * _amplitudes(places - SERVER, OBSTRUCTED)
    arrival = np.outer(_steering(antennas, surface - SERVER), _steering(elements, SERVER - surface))
    to_server = _rician(rng, arrival) * _amplitudes(surface - SERVER, CLEAR)
    departures = np.stack([_steering(elements, place - surface) for place in places], axis=1)
    to_surface = _rician(rng, departures) * _amplitudes(places - surface, CLEAR)
    return direct / unit, to_server, to_surface / unit


def _amplitudes(offsets: RealArray, exponent: float) -> RealArray:
    """Return the amplitude gains over these distances (…, 2)."""
    distances = np.linalg.norm(offsets, axis=-1)
    return np.asarray(np.sqrt(REFERENCE_LOSS) * distances ** (-exponent / 2))


def _steering(size: int, offset: RealArray) -> ComplexArray:
    """Return the response of a uniform linear array along the first axis in this direction."""
    cosine = offset[0] / np.linalg.norm(offset)
    return np.asarray(np.exp(1j * np.pi * cosine * np.arange(size)))


def _rician(rng: np.random.Generator, line_of_sight: ComplexArray) -> ComplexArray:
    """Return the line of sight with scattering around it."""
    scattered = iid_channels(rng, *line_of_sight.shape)
    return np.asarray((np.sqrt(RICIAN) * line_of_sight + scattered) / np.sqrt(1 + RICIAN))
