import pickle

import numpy as np
import pytest

from app.scheduling import InvalidProblemError
from app.scheduling.wideband.problem import WidebandProblem
from lab.channels import iid_band
from lab.problems import random_wideband_problem

BAND = iid_band(np.random.default_rng(0), 3, 2, 4, taps=2)


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"channels": BAND[0]}, "channels"),
        ({"channels": np.zeros((0, 2, 4))}, "channels"),
        ({"channels": np.full((1, 1, 4), np.nan)}, "channels"),
        ({"weights": np.ones(3)}, "weights"),
        ({"weights": np.zeros(4)}, "weights"),
        ({"gamma": 0.0}, "gamma"),
        ({"power": -1.0}, "power"),
        ({"noise_variance": np.inf}, "noise_variance"),
        ({"priorities": np.ones(3)}, "priorities"),
        ({"criterion": "worst"}, "criterion"),
        ({"csi_error": -0.1, "criterion": "each"}, "csi_error"),
    ],
)
def test_what_is_wrong_is_named(changed, field):
    arguments = {"channels": BAND, "weights": np.ones(4), "gamma": 1.0} | changed
    with pytest.raises(InvalidProblemError) as caught:
        WidebandProblem(**arguments)
    assert caught.value.field == field


def test_is_rebuilt_from_a_pickle():
    problem = WidebandProblem(BAND, np.ones(4), 2.0, priorities=[1, 2, 3, 4], criterion="each")
    other = pickle.loads(pickle.dumps(problem))
    np.testing.assert_array_equal(other.channels, BAND)
    assert not other.channels.flags.writeable
    assert other.criterion == "each"
    np.testing.assert_array_equal(other.values, [0.25, 0.5, 0.75, 1])


def test_costs_are_errors_over_the_tolerance():
    rng = np.random.default_rng(1)
    for _ in range(20):
        problem = random_wideband_problem(rng)
        receivers = rng.standard_normal((problem.subcarriers, problem.antennas)) + 0j
        costs = problem.costs(receivers)
        for f in range(problem.subcarriers):
            c = receivers[f] / np.linalg.norm(receivers[f])
            for k in range(problem.devices):
                gain = abs(np.vdot(problem.channels[f, :, k], c)) ** 2
                alone = problem.noise_variance / problem.power * problem.weights[k] ** 2 / gain
                tolerated = problem.gamma * problem.noise_variance / problem.power
                assert costs[f, k] == pytest.approx(alone / tolerated, rel=1e-9)


def test_everyone_joins_whom_the_receivers_serve_as_well():
    rng = np.random.default_rng(2)
    joined = 0
    for _ in range(100):
        problem = random_wideband_problem(rng)
        receivers = rng.standard_normal((problem.subcarriers, problem.antennas)) + 0j
        costs = problem.costs(receivers)
        active = problem.with_joined(receivers, np.zeros(problem.devices, bool))
        assert problem.keeps(costs[:, active].max(axis=1, initial=0))
        for k in np.flatnonzero(~active):
            more = active.copy()
            more[k] = True
            assert not problem.keeps(costs[:, more].max(axis=1))
        joined += active.sum()
    assert joined > 50
