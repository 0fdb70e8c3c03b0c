"""Channel models: independent entries, and a surface between the devices and the server.

The paper's network, a ring of devices around the server, is in
:mod:`airsched_client.federated.channels`.
"""

import numpy as np

from airsched_client.federated.band import subcarrier_channels, tap_powers
from app.scheduling.types import ComplexArray, RealArray

SERVER = np.array([0.0, 0.0])
BESIDE_SERVER, AMID_DEVICES = np.array([0.0, 10.0]), np.array([50.0, 10.0])
"""Places for the surface."""
DEVICES = np.array([50.0, 0.0])
RADIUS = 10.0
OBSTRUCTED, CLEAR = 4.0, 2.2
"""Path-loss exponents of the direct links, and of the links to and from the surface."""
REFERENCE_LOSS = 1e-3
"""Path loss at one metre."""
RICIAN = 10**0.5
"""Power of the line of sight over the scattered power, 5 dB."""


def iid_channels(rng: np.random.Generator, antennas: int, devices: int) -> ComplexArray:
    """Return independent CN(0, 1) entries, (N, K): the paper's setting for its first figures."""
    entries = rng.standard_normal((2, antennas, devices)) / np.sqrt(2)
    return np.asarray(entries[0] + 1j * entries[1])


def iid_band(
    rng: np.random.Generator, subcarriers: int, antennas: int, devices: int, taps: int
) -> ComplexArray:
    """Return (F, N, K) channels whose taps are independent: CN(0, 1) on every subcarrier."""
    drawn = np.stack([iid_channels(rng, antennas, devices) for _ in range(taps)])
    return subcarrier_channels(np.sqrt(tap_powers(taps))[:, None, None] * drawn, subcarriers)


def random_unitary(rng: np.random.Generator, size: int) -> ComplexArray:
    """Return a random unitary matrix, (size, size)."""
    return np.asarray(np.linalg.qr(iid_channels(rng, size, size))[0])


def irs_channels(
    rng: np.random.Generator,
    antennas: int,
    devices: int,
    elements: int,
    surface: RealArray = BESIDE_SERVER,
) -> tuple[ComplexArray, ComplexArray, ComplexArray]:
    """Return H⁰ (N, K), T (N, M) and G (M, K) with a reflecting surface.

    The server is at the origin, the surface at ``surface``, the devices are uniform in a disc of
    10 m around (50 m, 0). Server and surface are uniform linear arrays along the first axis, with
    elements half a wavelength apart. The direct channels are Rayleigh with an exponent of 4
    (obstructed), those to and from the surface Rician with 5 dB and an exponent of 2.2; 30 dB are
    lost at one metre. Everything is divided by the amplitude of a direct channel at 50 m, so γ is
    relative to it.
    """
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
    """Return the line of sight with scattering added to it."""
    scattered = iid_channels(rng, *line_of_sight.shape)
    return np.asarray((np.sqrt(RICIAN) * line_of_sight + scattered) / np.sqrt(1 + RICIAN))
