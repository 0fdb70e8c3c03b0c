"""Channels and problems for the tests."""

import numpy as np

from app.scheduling import IrsProblem, Problem


def iid_channels(rng: np.random.Generator, antennas: int, devices: int) -> np.ndarray:
    """Independent CN(0, 1) entries, the paper's setting for its selection figures."""
    shape = (antennas, devices)
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)) / np.sqrt(2)


def random_unitary(rng: np.random.Generator, size: int) -> np.ndarray:
    return np.linalg.qr(iid_channels(rng, size, size))[0]


def random_problem(
    rng: np.random.Generator, most_devices: int | None = None, **fixed: object
) -> Problem:
    """Any size from 1×1 up, path loss over 30 dB, unequal weights, any tolerance that matters."""
    antennas, devices = (
        int(rng.integers(1, 9)),
        int(rng.integers(1, 1 + min(24, most_devices or 24))),
    )
    channels = iid_channels(rng, antennas, devices) * 10 ** rng.uniform(-1.5, 0, devices)
    arguments = {
        "channels": channels,
        "weights": 10 ** rng.uniform(-0.5, 0.5, devices),
        "gamma": 10 ** rng.uniform(-1, 2.5),
        "power": 10 ** rng.uniform(-1, 1),
        "noise_variance": 10 ** rng.uniform(-1, 1),
        **fixed,
    }
    return Problem(**arguments)


def random_irs_problem(
    rng: np.random.Generator, most_devices: int | None = None, **fixed: object
) -> IrsProblem:
    """As :func:`random_problem`, with a surface that is anything from weak to dominant."""
    plain = random_problem(rng, most_devices)
    elements = int(rng.integers(1, 13))
    arguments = {
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
