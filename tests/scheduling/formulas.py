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
