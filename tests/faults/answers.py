"""Answers checked from the numbers of request and answer alone, by the formulas of the paper."""

from types import SimpleNamespace

import numpy as np
import pytest

from tests.api.bodies import unpacked
from tests.scheduling.formulas import true_error, worst_channels


def assert_answer_holds(path, body, answer, *, keeps_tolerance=True):
    """Check every schedule in an answer of a scheduling route.

    Parameters
    ----------
    keeps_tolerance
        False for an algorithm that schedules devices whatever the error.

    Returns
    -------
    How many devices are scheduled in all.
    """
    if path == "/schedule/wideband":
        return _assert_band_holds(body, answer)
    if path == "/schedule/irs":
        reflected = unpacked(body["irs_to_server"]) * unpacked(answer["phases"])
        channels = unpacked(body["direct"]) + reflected @ unpacked(body["devices_to_irs"])
        rounds = [(channels, answer)]
    elif path == "/schedule/batch":
        rounds = list(zip(unpacked(body["channels"]), answer["schedules"], strict=True))
    elif path == "/schedule/frontier":
        rounds = [(unpacked(body["channels"]), point) for point in answer["points"]]
    else:
        rounds = [(unpacked(body["channels"]), answer)]
    for channels, schedule in rounds:
        error = _assert_round_holds(body, channels, schedule)
        tolerated, rounding = _tolerated(body, schedule)
        if error is None or keeps_tolerance:
            assert schedule["feasible"] == (error is not None)
        elif body["coordination"] == "zero_forcing":
            # With mmse its error may be small though a device misses what it needs by itself.
            assert schedule["feasible"] or error > tolerated
        if schedule["feasible"]:
            assert error <= tolerated + rounding
            assert len(schedule["active"]) <= schedule.get("upper_bound", np.inf)
    return sum(len(schedule["active"]) for _, schedule in rounds)


def _assert_band_holds(body, answer):
    if not answer["active"]:
        assert answer["receivers"] is None
        return 0
    parts = ("receivers", "transmit_scalars")
    arrays = zip(*(unpacked(answer[name]) for name in parts), strict=True)
    numbers = zip(answer["power_factors"], answer["computation_errors"], strict=True)
    tones = zip(unpacked(body["channels"]), arrays, numbers, strict=True)
    for channels, (receiver, scalars), (power_factor, error) in tones:
        tone = {"active": answer["active"], "receiver": receiver, "transmit_scalars": scalars}
        tone |= {"power_factor": power_factor, "computation_error": error}
        _assert_round_holds(body, channels, tone)
    errors = answer["computation_errors"]
    compared = np.mean(errors) if body["criterion"] == "mean" else np.max(errors)
    assert answer["computation_error"] == pytest.approx(compared, rel=1e-7)
    assert compared <= sum(_tolerated(body, answer))
    return len(answer["active"])


def _tolerated(body, schedule):
    """Return ε, and what rounding may add to an error: a weight is received to sixteen digits."""
    weights = np.array(body.get("weights", [1.0] * (1 + max(schedule["active"], default=0))))
    rounding = 1e-30 * np.sum(weights[schedule["active"]] ** 2)
    tolerated = schedule["gamma"] * body["noise_variance"] / body["power"]
    return tolerated, 1e-7 * tolerated + rounding


def _assert_round_holds(body, channels, answer):
    """Check one schedule for channels (N, K); return its error, None if nobody is scheduled."""
    devices = channels.shape[1]
    scalars = answer["transmit_scalars"]
    scalars = unpacked(scalars) if isinstance(scalars, dict) else scalars
    active = answer["active"]
    assert active == sorted(set(active))
    assert scalars.shape == (devices,)
    assert np.flatnonzero(scalars).tolist() == active
    if not active:
        assert answer["receiver"] is answer["computation_error"] is None
        return None
    receiver = answer["receiver"]
    receiver = unpacked(receiver) if isinstance(receiver, dict) else receiver
    assert np.linalg.norm(receiver) == pytest.approx(1, rel=1e-9)
    assert np.abs(scalars).max() ** 2 <= body["power"] * (1 + 1e-7)
    problem = SimpleNamespace(
        channels=channels,
        devices=devices,
        weights=np.broadcast_to(body.get("weights", 1.0), devices),
        csi_error=np.array(body.get("csi_error", 0.0)),
        noise_variance=body["noise_variance"],
    )
    schedule = SimpleNamespace(
        active=np.array(active),
        receiver=receiver,
        transmit_scalars=scalars,
        power_factor=answer["power_factor"],
    )
    error = true_error(problem, schedule, worst_channels(problem, schedule))
    assert answer["computation_error"] == pytest.approx(error, rel=1e-6)
    return answer["computation_error"]
