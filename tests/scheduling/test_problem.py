from dataclasses import fields, replace

import numpy as np
import pytest

from app.scheduling import InvalidProblemError, Problem

GOOD = {"channels": np.ones((2, 3)), "weights": np.ones(3), "gamma": 1.0}


def test_derived_quantities():
    problem = Problem(
        np.ones((2, 3)), [1, 2, 3], gamma=4.0, power=8.0, noise_variance=0.5, csi_error=0.25
    )
    assert (problem.antennas, problem.devices) == (2, 3)
    assert problem.max_error == pytest.approx(4.0 * 0.5 / 8.0)
    # φ²/γ, and as much again because an error of 0.25 weighs as much as the noise.
    np.testing.assert_allclose(problem.required_gains, 2 * np.array([0.5, 1, 1.5]) ** 2)


def test_arrays_are_copies_that_nobody_can_change():
    channels = np.ones((2, 3), complex)
    problem = Problem(channels, np.ones(3), gamma=1.0)
    channels[0, 0] = 5
    assert problem.channels[0, 0] == 1
    for array in (problem.channels, problem.weights, problem.required_gains):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 2


def test_served_is_the_constraint():
    problem = Problem(np.array([[1.0, 2.0, 0.5]]), np.array([1.0, 2.0, 1.0]), gamma=1.0)
    assert problem.served(np.array([1j])).tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("change", "field", "says"),
    [
        ({"channels": np.ones(3)}, "channels", "matrix"),
        ({"channels": np.ones((2, 0))}, "channels", "at least one"),
        ({"channels": np.array([[np.nan, 1, 1]])}, "channels", "finite"),
        ({"channels": np.array([[1, complex(0, np.inf), 1]])}, "channels", "finite"),
        ({"channels": np.array([[1, complex(0, np.nan), 1]])}, "channels", "finite"),
        ({"channels": np.array([[1, complex(0, -1e31), 1]])}, "channels", "rescale"),
        ({"channels": np.full((1, 3), 1e31)}, "channels", "rescale"),
        ({"channels": [[1, 2], [3]]}, "channels", "equal rows"),
        ({"weights": np.ones(2)}, "weights", "3 numbers"),
        ({"weights": [1, 0, 1]}, "weights", "positive"),
        ({"weights": [1, -1, 1]}, "weights", "positive"),
        ({"weights": [1, np.nan, 1]}, "weights", "positive"),
        ({"gamma": 0.0}, "gamma", "positive"),
        ({"gamma": float("inf")}, "gamma", "positive"),
        ({"power": -1.0}, "power", "positive"),
        ({"noise_variance": float("nan")}, "noise_variance", "positive"),
        ({"csi_error": -0.1}, "csi_error", "between 0"),
        ({"csi_error": [0.1, 0.2]}, "csi_error", "3 numbers"),
    ],
)
def test_invariants(change, field, says):
    with pytest.raises(InvalidProblemError, match=says) as caught:
        Problem(**{**GOOD, **change})
    assert caught.value.field == field


@pytest.mark.parametrize("csi_error", [0.0, 0.1, [0.0, 0.2, 0.1]])
def test_another_tolerance(csi_error):
    problem = Problem(np.eye(3), [1.0, 0.3, 2.0], 1.0, csi_error=csi_error, priorities=[1, 2, 3])
    other, anew = problem.with_gamma(0.7), replace(problem, gamma=0.7)
    for item in fields(Problem):
        np.testing.assert_array_equal(getattr(other, item.name), getattr(anew, item.name))
    assert not other.required_gains.flags.writeable
    assert problem.gamma == 1.0
    for gamma in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(InvalidProblemError, match="gamma"):
            problem.with_gamma(gamma)
