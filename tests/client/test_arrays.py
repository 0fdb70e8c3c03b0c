"""Arrays as tools give them: brought into shape, or refused before anything is sent."""

import msgpack
import numpy as np
import pytest

from airsched_client._arrays import Shapes
from airsched_client._calls import schedule, schedule_batch, schedule_irs
from airsched_client._wire import ENCODINGS
from tests.api.bodies import unpacked

MSGPACK = ENCODINGS["msgpack"]
CHANNELS = np.arange(6).reshape(2, 3) * (1 - 2j)


def sent(call, name="channels"):
    return msgpack.unpackb(call.request["content"])[name]


@pytest.mark.parametrize("leading", [(), (1,), (1, 1, 1)])
def test_leading_ones_are_dropped(leading):
    given = CHANNELS.reshape((*leading, 2, 3))
    weights = np.ones((*leading, 3))
    call = schedule(MSGPACK, given, "antennas_first", {"gamma": 1, "weights": weights})
    np.testing.assert_array_equal(unpacked(sent(call)), CHANNELS)
    assert sent(call, "weights") == [1, 1, 1]


def test_axes_of_length_one_that_count_are_kept():
    one = schedule(MSGPACK, np.ones((1, 1)), "antennas_first", {})
    assert sent(one)["shape"] == [1, 1]
    (batch,) = schedule_batch(MSGPACK, np.ones((1, 1, 2, 3)), "antennas_first", {}, None)
    assert sent(batch)["shape"] == [1, 2, 3]


def test_devices_first():
    call = schedule(MSGPACK, CHANNELS.T[np.newaxis], "devices_first", {"warm_start": [1, 1j]})
    np.testing.assert_array_equal(unpacked(sent(call)), CHANNELS)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("complex64", "complex64"),
        ("complex128", "complex128"),
        ("clongdouble", "complex128"),
        (">c8", "complex64"),
        ("float16", "complex64"),
        ("float32", "complex64"),
        ("float64", "complex128"),
        ("int64", "complex128"),
    ],
)
def test_precision_is_kept(dtype, expected):
    given = np.arange(6).reshape(2, 3).astype(dtype)
    call = schedule(MSGPACK, given, "antennas_first", {})
    assert sent(call)["dtype"] == expected
    received = np.frombuffer(sent(call)["data"], expected).reshape(2, 3)
    np.testing.assert_array_equal(received, given)


def test_what_is_given_is_not_changed_and_not_kept():
    given = CHANNELS.copy()
    call = schedule(MSGPACK, given, "antennas_first", {})
    np.testing.assert_array_equal(given, CHANNELS)
    assert given.flags.writeable
    given[:] = 0
    np.testing.assert_array_equal(unpacked(sent(call)), CHANNELS)


@pytest.mark.parametrize(
    ("channels", "message"),
    [
        (np.ones(3), r"channels must have the shape \(antennas, devices\), not \(3,\)"),
        (1.0, r"channels must have the shape \(antennas, devices\), not \(\)"),
        (np.ones((4, 2, 3)), r"must have the shape \(antennas, devices\), not \(4, 2, 3\)$"),
        (np.ones((4, 3, 2)), r"not \(4, 3, 2\); .* real \+ 1j \* imag"),
        (np.ones((2, 4, 3)), r"not \(2, 4, 3\); .* real \+ 1j \* imag"),
        (np.ones((2, 4, 3), complex), r"not \(2, 4, 3\)$"),
        (np.ones((0, 3)), r"channels must not be empty, but is of shape \(0, 3\)"),
        (np.ones((1, 0, 3)), r"channels must not be empty"),
        ([[1, 2], [3]], "channels cannot be read as an array"),
        ([["1", "2"]], "channels must be numbers in equal rows, not <U1"),
        ([[True, False]], "channels must be numbers in equal rows, not bool"),
        (None, "channels must be numbers in equal rows, not object"),
    ],
)
def test_channels_that_cannot_be(channels, message):
    with pytest.raises(ValueError, match=message):
        schedule(MSGPACK, channels, "antennas_first", {"gamma": 1})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": [1, 1]}, r"weights has 2 devices, but channels has 3; .*devices_first"),
        ({"weights": [1, 1, 1j]}, "weights must be real numbers, not complex128"),
        ({"weights": 1.0}, r"weights must have the shape \(devices\), not \(\)"),
        ({"csi_error": [0.1, 0.1]}, "csi_error has 2 devices, but channels has 3"),
        ({"warm_start": [1, 1, 1]}, "warm_start has 3 antennas, but channels has 2"),
        (
            {"warm_start": np.ones((2, 1))},
            r"warm_start must have the shape \(antennas\), not \(2, 1\)",
        ),
        ({"device_ids": ["a", "b"]}, "device_ids has 2 devices, but channels has 3"),
        ({"device_ids": "abc"}, "device_ids must be a list of strings, not one string"),
    ],
)
def test_vectors_that_do_not_fit(options, message):
    with pytest.raises(ValueError, match=message):
        schedule(MSGPACK, CHANNELS, "antennas_first", {"gamma": 1, **options})


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([(2, 3), (3, 4), (4, 3)], "irs_to_server has 3 antennas, but direct has 2"),
        ([(2, 3), (2, 4), (5, 3)], "devices_to_irs has 5 elements, but irs_to_server has 4"),
        ([(2, 3), (2, 4), (4, 2)], "devices_to_irs has 2 devices, but direct has 3"),
    ],
)
def test_surfaces_that_do_not_fit(shapes, message):
    arrays = [np.ones(shape) for shape in shapes]
    with pytest.raises(ValueError, match=message):
        schedule_irs(MSGPACK, *arrays, "antennas_first", {"gamma": 1})


def test_initial_phases_that_do_not_fit():
    arrays = [np.ones(shape) for shape in [(2, 3), (2, 4), (4, 3)]]
    with pytest.raises(ValueError, match="initial_phases has 3 elements, but irs_to_server has 4"):
        schedule_irs(MSGPACK, *arrays, "antennas_first", {"initial_phases": np.ones(3)})


def test_a_batch_of_one_matrix():
    with pytest.raises(ValueError, match=r"the shape \(rounds, antennas, devices\), not \(2, 3\)"):
        list(schedule_batch(MSGPACK, CHANNELS, "antennas_first", {"gamma": 1}, None))


def test_layouts_that_there_are_not():
    with pytest.raises(ValueError, match="layout must be one of antennas_first, devices_first"):
        Shapes("upside_down")
