"""The paper's formulas, with scalars and one device at a time, from the request's numbers alone."""

import numpy as np
import pytest


def assert_formulas_hold(problem, schedule, channels, *, keeps_tolerance=True):
    """Check a schedule; ``channels[k]`` is what device k's signal goes through.

    Returns whether anybody is served.
    """
    active = schedule.active.tolist()
    assert active == sorted(set(active))
    assert schedule.transmit_scalars.shape == (problem.devices,)
    for k in set(range(problem.devices)) - set(active):
        assert schedule.transmit_scalars[k] == 0
    if not active:
        assert not schedule.feasible
        assert schedule.receiver is None
        assert schedule.power_factor is None
        assert schedule.computation_error is None
        return False
    c = schedule.receiver
    assert np.linalg.norm(c) == pytest.approx(1, rel=1e-9)
    ratios = []
    for k in active:
        h, phi = channels[k], problem.weights[k]
        gain = abs(np.vdot(h, c)) ** 2
        ratios.append(gain / phi**2)
        if keeps_tolerance:
            assert phi**2 <= problem.gamma * gain * (1 + 1e-8)
        psi = schedule.transmit_scalars[k]
        assert abs(psi) ** 2 <= problem.power * (1 + 1e-8)
        received = np.vdot(c, h) * psi / np.sqrt(schedule.power_factor)
        assert received == pytest.approx(phi, rel=1e-7)
    assert schedule.power_factor == pytest.approx(problem.power * min(ratios), rel=1e-8)
    error = problem.noise_variance / problem.power / min(ratios)
    assert schedule.computation_error == pytest.approx(error, rel=1e-8)
    max_error = problem.gamma * problem.noise_variance / problem.power
    assert schedule.feasible == (schedule.computation_error <= max_error * (1 + 1e-8))
    return True


def true_error(problem, schedule, channels):
    """Return the mean squared error if the true channels (N, K) are these."""
    total = problem.noise_variance / schedule.power_factor
    for k in schedule.active.tolist():
        received = np.vdot(schedule.receiver, channels[:, k]) * schedule.transmit_scalars[k]
        total += abs(received / np.sqrt(schedule.power_factor) - problem.weights[k]) ** 2
    return total


def worst_channels(problem, schedule):
    """Return the channels (N, K) within the CSI error that harm this schedule most.

    Device k's contribution is wrong by z already; the error adds to it, along the receiver and in
    the phase of z.
    """
    worst = np.array(problem.channels)
    for k in schedule.active.tolist():
        scalar = schedule.transmit_scalars[k] / np.sqrt(schedule.power_factor)
        wrong = np.vdot(schedule.receiver, worst[:, k]) * scalar - problem.weights[k]
        # A device that inverts its channel is wrong by rounding only.
        wrong = wrong if abs(wrong) > 1e-9 * problem.weights[k] else 1.0
        turn = wrong / abs(wrong) * np.conj(scalar) / abs(scalar)
        bound = np.broadcast_to(problem.csi_error, problem.devices)[k]
        worst[:, k] += bound * schedule.receiver * turn
    return worst


def worst_error(problem, schedule):
    """Return the mean squared error if the channels are the worst within the CSI error."""
    return true_error(problem, schedule, worst_channels(problem, schedule))
