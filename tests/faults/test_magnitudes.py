"""Channels of every magnitude and rank, to every algorithm of every scheduling route.

None is late, and none is wrong: every schedule is checked here by the formulas, and the service
checks each as well, so that one that breaks a formula would be a 500. ``make fuzz-magnitudes``
sends thousands, and says how many, how late the latest was, and how many were wrong.
"""

import os
import time
from collections import Counter

import numpy as np
import pytest

from app.scheduling import IRS_SCHEDULERS, SCHEDULERS, WIDEBAND_SCHEDULERS
from lab.channels import iid_channels
from tests.api.bodies import nested
from tests.faults.answers import assert_answer_holds

COUNT = int(os.environ.get("FUZZ_PROBLEMS", "3"))
DEADLINE_SECONDS = 2.0
GRACE_SECONDS = 0.25
"""For HTTP, decoding and encoding, and a test that shares its cores with the service."""

ROUTES = {
    "/schedule": SCHEDULERS,
    "/schedule/irs": IRS_SCHEDULERS,
    "/schedule/batch": SCHEDULERS,
    "/schedule/wideband": WIDEBAND_SCHEDULERS,
    "/schedule/frontier": {"dual_pursuit": SCHEDULERS["dual_pursuit"]},
}
CASES = [(path, name) for path, schedulers in ROUTES.items() for name in schedulers]


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
    body = {
        "coordination": str(rng.choice(["zero_forcing", "mmse"])),
        "deadline_ms": DEADLINE_SECONDS * 1e3,
        "power": float(10.0 ** rng.choice([-6, 0, 6])),
        "noise_variance": float(10.0 ** rng.choice([-6, 0, 6])),
    }
    if path == "/schedule/irs":
        elements = int(rng.integers(1, 5))
        scale = 10.0 ** rng.uniform(-150, 0)
        bounded = np.clip(channels.real, -1e28, 1e28) + 1j * channels.imag.clip(-1e28, 1e28)
        body["direct"] = nested(bounded)
        body["irs_to_server"] = nested(scale * iid_channels(rng, antennas, elements))
        body["devices_to_irs"] = nested(iid_channels(rng, elements, devices))
    elif path in ("/schedule/batch", "/schedule/wideband"):
        others = range(int(rng.integers(0, 3)))
        stacked = [channels, *(extreme_channels(rng, antennas, devices) for _ in others)]
        body["channels"] = nested(np.stack(stacked))
    else:
        body["channels"] = nested(channels)
    if path == "/schedule/wideband":
        body["criterion"] = str(rng.choice(["mean", "each"]))
    if path != "/schedule/frontier":
        body["gamma"] = float(10.0 ** rng.choice([-30, -3, 0, 1, 10, 20, 30]))
        body["polish"] = bool(rng.random() < 0.3)
    if rng.random() < 0.3:
        body["csi_error"] = float(10.0 ** rng.uniform(-12, 1))
    if rng.random() < 0.3:
        body["weights"] = (10.0 ** rng.uniform(-8, 8, devices)).tolist()
    if path == "/schedule" and rng.random() < 0.2:
        body["bound"] = True
    return body


@pytest.fixture(scope="module")
def tally(request):
    """Count requests and what became of them; say it at the end of a long run."""
    counted, shares = Counter(), []
    yield counted, shares
    if "FUZZ_PROBLEMS" in os.environ and shares:
        manager = request.config.pluginmanager.getplugin("capturemanager")
        with manager.global_and_fixture_disabled():
            print(
                f"\n{len(shares)} requests ({counted[200]} answered, {counted['devices']} devices "
                f"scheduled; {counted[422]} refused as invalid, {counted[504]} out of time); "
                f"the slowest took {max(shares):.3f} of its deadline of {DEADLINE_SECONDS:g} s; "
                f"{counted['late']} late, {counted['wrong']} wrong"
            )


@pytest.mark.parametrize(("path", "algorithm"), CASES)
def test_no_magnitude_is_late_or_wrong(client, tally, path, algorithm):
    counted, shares = tally
    rng = np.random.default_rng([len(path), *map(ord, algorithm)])
    scheduler = ROUTES[path][algorithm]
    # Only an algorithm that cannot be stopped may have nothing to answer.
    expected = (200, 422, 504) if scheduler.pace == "slow" else (200, 422)
    faults = []
    for _ in range(COUNT):
        body = {"algorithm": algorithm, **body_of(rng, path)}
        begun = time.monotonic()
        response = client.post(path, json=body)
        seconds = time.monotonic() - begun
        shares.append(seconds / DEADLINE_SECONDS)
        counted[response.status_code] += 1
        if seconds > DEADLINE_SECONDS + GRACE_SECONDS:
            counted["late"] += 1
            faults.append((f"after {seconds:.2f} s", body))
        try:
            assert response.status_code in expected, response.text
            if response.status_code == 200:
                answer = response.json()
                counted["devices"] += assert_answer_holds(
                    path, body, answer, keeps_tolerance=scheduler.keeps_tolerance
                )
        except AssertionError as error:
            counted["wrong"] += 1
            faults.append((str(error), body))
    assert not faults, f"{len(faults)} of {COUNT}; the first: {faults[0]}"


@pytest.mark.parametrize("weak", [1e-156, 1e-100, 1e-30, 5e-324])
def test_a_frontier_over_a_channel_that_overflows(client, weak):
    body = {"channels": {"real": [[1, weak]], "imag": [[1, weak]]}, "deadline_ms": 5000}
    begun = time.monotonic()
    response = client.post("/schedule/frontier", json=body)
    assert response.status_code == 200
    assert time.monotonic() - begun < 2
    assert response.json()["points"][0]["active"] == [0]
