"""Channels of every magnitude and rank, to every algorithm of every route.

None is slow, and none is wrong: the service verifies each answer, and one that breaks a formula
would be a 500. ``make fuzz-magnitudes`` sends many.
"""

import os
import time

import numpy as np
import pytest

from app.scheduling import IRS_SCHEDULERS, SCHEDULERS
from lab.channels import iid_channels

COUNT = int(os.environ.get("FUZZ_PROBLEMS", "6"))
DEADLINE_SECONDS = 5.0
LEEWAY_SECONDS = 1.5
"""For decoding, encoding and a machine that does other things as well."""

CASES = [
    *(("/schedule", name) for name in SCHEDULERS),
    *(("/schedule/irs", name) for name in IRS_SCHEDULERS),
    ("/schedule/frontier", "dual_pursuit"),
]


def extreme_channels(rng, antennas, devices):
    """Return channels (N, K) from one of the families that have broken something."""
    plain = iid_channels(rng, antennas, devices)
    rank = int(rng.integers(1, antennas + 1))
    families = {
        "magnitudes": plain * 10.0 ** rng.uniform(-150, 29, devices),
        "entries": plain * 10.0 ** rng.uniform(-150, 29, plain.shape),
        "denormal": plain * 1e-310,
        "one denormal": np.where(rng.random(devices) < 0.3, 5e-324, 1.0) * plain,
        "zeros": np.where(rng.random(plain.shape) < 0.5, 0.0, plain),
        "equal": np.repeat(plain[:, :1], devices, axis=1),
        "nearly equal": plain[:, :1] + 10.0 ** rng.uniform(-16, -3) * plain,
        "low rank": iid_channels(rng, antennas, rank) @ iid_channels(rng, rank, devices),
        "orthogonal": np.resize(np.fft.fft(np.eye(antennas)).T, (devices, antennas)).T,
    }
    return families[str(rng.choice(list(families)))]


def body_of(rng, path):
    antennas, devices = int(rng.integers(1, 7)), int(rng.integers(1, 13))
    channels = extreme_channels(rng, antennas, devices)
    if path == "/schedule/irs":
        elements = int(rng.integers(1, 5))
        hops = (iid_channels(rng, antennas, elements), iid_channels(rng, elements, devices))
        scale = 10.0 ** rng.uniform(-150, 0)
        body = {
            "direct": packed(
                np.clip(channels.real, -1e28, 1e28) + 1j * channels.imag.clip(-1e28, 1e28)
            ),
            "irs_to_server": packed(scale * hops[0]),
            "devices_to_irs": packed(hops[1]),
        }
    else:
        body = {"channels": packed(channels)}
    if path != "/schedule/frontier":
        body["gamma"] = float(10.0 ** rng.choice([-30, -3, 0, 1, 10, 20, 30]))
        body["polish"] = bool(rng.random() < 0.3)
    if rng.random() < 0.3:
        body["csi_error"] = float(10.0 ** rng.uniform(-12, 1))
    if rng.random() < 0.3:
        body["weights"] = (10.0 ** rng.uniform(-8, 8, devices)).tolist()
    body["coordination"] = str(rng.choice(["zero_forcing", "mmse"]))
    return body


def packed(array):
    return {"real": array.real.tolist(), "imag": array.imag.tolist()}


@pytest.mark.parametrize(("path", "algorithm"), CASES)
def test_no_magnitude_is_slow_or_wrong(client, path, algorithm):
    rng = np.random.default_rng([len(path), *map(ord, algorithm)])
    for _ in range(COUNT):
        body = {"algorithm": algorithm, "deadline_ms": DEADLINE_SECONDS * 1e3, **body_of(rng, path)}
        begun = time.monotonic()
        response = client.post(path, json=body)
        assert time.monotonic() - begun < DEADLINE_SECONDS + LEEWAY_SECONDS
        assert response.status_code in (200, 422), (response.text, body)


@pytest.mark.parametrize("weak", [1e-156, 1e-100, 1e-30, 5e-324])
def test_a_frontier_over_a_channel_that_overflows(client, weak):
    body = {"channels": {"real": [[1, weak]], "imag": [[1, weak]]}, "deadline_ms": 5000}
    begun = time.monotonic()
    response = client.post("/schedule/frontier", json=body)
    assert response.status_code == 200
    assert time.monotonic() - begun < 2
    assert response.json()["points"][0]["active"] == [0]
