"""What is sent, byte by byte, and what is made of the answers that the contract describes."""

import base64
import json
from itertools import chain

import httpx
import msgpack
import numpy as np
import pytest

from airsched_client import IrsSchedule, UnexpectedAnswerError
from lab.channels import iid_channels
from tests.api.bodies import nested, packed, unpacked

RNG = np.random.default_rng(61)
MEDIA_TYPES = {"msgpack": "application/msgpack", "json": "application/json"}
DIRECT, TO_SERVER, TO_IRS = (iid_channels(RNG, *shape) for shape in [(3, 5), (3, 4), (4, 5)])
PHASES = np.exp(1j * np.array([0.1, -2.0, 3.0, 0.0]))
RECEIVER = np.array([0.6, complex(-0.0, 0.8), 0])
SCALARS = np.array([0, 1 + 2j, 0, -0.5j, 0])


class Service:
    """Stands in for the service: keeps what it is sent, and answers what it is told to."""

    def __init__(self, answer, encoding="msgpack"):
        self._answer, self._encoding = answer, encoding
        self.requests = []
        self.settings = {"encoding": encoding, "transport": httpx.MockTransport(self._handle)}

    def _handle(self, request):
        self.requests.append(request)
        media_type = MEDIA_TYPES[self._encoding]
        assert request.headers["accept"] == media_type
        assert request.headers["content-type"] == media_type
        dump = {"msgpack": msgpack.packb, "json": lambda body: json.dumps(body).encode()}
        return httpx.Response(
            200, content=dump[self._encoding](self._answer), headers={"Content-Type": media_type}
        )

    @property
    def body(self):
        load = {"msgpack": msgpack.unpackb, "json": json.loads}
        (request,) = self.requests
        return load[self._encoding](request.content)


def schedule_answer(encoding, **more):
    array = nested if encoding == "json" else lambda value: packed(value, raw=True)
    return {
        "feasible": True,
        "active": [1, 3],
        "active_ids": ["b", "d"],
        "receiver": array(RECEIVER),
        "power_factor": 0.5,
        "computation_error": 2.0,
        "transmit_scalars": array(SCALARS),
        "gamma": 2.0,
        "algorithm": {"name": "matching_pursuit", "delta": 0.55},
        "iterations": 3,
        "stopped": "converged",
        "of a later version": 1,
    } | {name: array(value) for name, value in more.items()}


def expect_schedule(schedule):
    assert schedule.feasible is True
    assert schedule.active.dtype == np.int64
    np.testing.assert_array_equal(schedule.active, [1, 3])
    assert schedule.active_ids == ("b", "d")
    assert schedule.receiver.tobytes() == RECEIVER.tobytes()
    assert schedule.transmit_scalars.tobytes() == SCALARS.astype(complex).tobytes()
    assert (schedule.power_factor, schedule.computation_error) == (0.5, 2.0)
    assert schedule.gamma == 2.0
    assert schedule.algorithm == {"name": "matching_pursuit", "delta": 0.55}
    assert (schedule.iterations, schedule.stopped) == (3, "converged")


@pytest.mark.parametrize("encoding", MEDIA_TYPES)
def test_schedule(call, encoding):
    service = Service(schedule_answer(encoding), encoding)
    schedule = call("http://test/at/a/path", service.settings, "schedule", DIRECT, gamma_db=3)
    expect_schedule(schedule)
    (request,) = service.requests
    assert (request.method, str(request.url)) == ("POST", "http://test/at/a/path/schedule")
    # What is not given is not sent: the service's own defaults hold.
    raw = encoding == "msgpack"
    assert service.body == {"channels": packed(DIRECT, raw=raw), "gamma_db": 3}


@pytest.mark.parametrize("encoding", MEDIA_TYPES)
def test_every_field(call, encoding):
    service = Service(schedule_answer(encoding), encoding)
    fields = {
        "power": 2.0,
        "noise_variance": 0.5,
        "max_error": 0.1,
        "device_ids": ["a", "b", "c", "d", "e"],
        "algorithm": {"name": "round_robin", "start": 3},
        "coordination": "mmse",
        "polish": True,
        "deadline_ms": 12.5,
        "seed": 9,
    }
    as_numpy = {
        "power": np.float32(2),
        "seed": np.int64(9),
        "polish": np.True_,
        "device_ids": np.array(fields["device_ids"]),
        "algorithm": {"name": "round_robin", "start": np.int8(3)},
        "gamma": None,
        "csi_error": (0, 0, 0, 0, 0.5),
        "weights": np.arange(1, 6),
        "warm_start": RECEIVER,
    }
    call("http://test", service.settings, "schedule", DIRECT, **(fields | as_numpy))
    raw = encoding == "msgpack"
    assert service.body == fields | {
        "channels": packed(DIRECT, raw=raw),
        "weights": [1, 2, 3, 4, 5],
        "csi_error": [0, 0, 0, 0, 0.5],
        "warm_start": packed(RECEIVER, raw=raw),
    }


def test_parameters_that_are_arrays(call):
    service = Service(schedule_answer("msgpack"))
    gains = np.linspace(1, 2, 5)
    algorithm = {"name": "proportional_fair", "average_gains": gains}
    call("http://test", service.settings, "schedule", DIRECT, gamma=1, algorithm=algorithm)
    assert service.body["algorithm"]["average_gains"] == gains.tolist()


@pytest.mark.parametrize("csi_error", [0.5, 1, np.float32(0.5), np.array(0.5)])
def test_one_csi_error_for_all(call, csi_error):
    service = Service(schedule_answer("msgpack"))
    call("http://test", service.settings, "schedule", DIRECT, gamma=1, csi_error=csi_error)
    assert service.body["csi_error"] == csi_error


def test_single_precision_is_not_widened(call):
    single = DIRECT.astype(np.complex64)
    service = Service(schedule_answer("msgpack"))
    call("http://test", service.settings, "schedule", single, gamma=1)
    channels = service.body["channels"]
    assert channels["dtype"] == "complex64"
    assert channels["data"] == single.tobytes()


@pytest.mark.parametrize("order", ["<", ">"])
def test_bytes_are_little_endian_and_row_major(call, order):
    given = np.asfortranarray(DIRECT).astype(np.dtype("c16").newbyteorder(order))
    service = Service(schedule_answer("json"), "json")
    call("http://test", service.settings, "schedule", given, gamma=1)
    data = base64.b64decode(service.body["channels"]["data"])
    parts = chain.from_iterable((entry.real, entry.imag) for entry in DIRECT.ravel())
    np.testing.assert_array_equal(np.frombuffer(data, "<f8"), list(parts))


@pytest.mark.parametrize("encoding", MEDIA_TYPES)
def test_schedule_irs(call, encoding):
    service = Service(schedule_answer(encoding, phases=PHASES), encoding)
    schedule = call(
        "http://test",
        service.settings,
        "schedule_irs",
        DIRECT,
        TO_SERVER,
        TO_IRS,
        gamma=2,
        phase_bits=np.int64(2),
        initial_phases=PHASES,
        weights=np.ones(5),
        algorithm={"name": "matching_pursuit", "phase_update": "bcd"},
    )
    assert type(schedule) is IrsSchedule
    expect_schedule(schedule)
    assert schedule.phases.tobytes() == PHASES.tobytes()
    assert not schedule.phases.flags.writeable
    assert service.requests[0].url.path == "/schedule/irs"
    raw = encoding == "msgpack"
    assert service.body == {
        "direct": packed(DIRECT, raw=raw),
        "irs_to_server": packed(TO_SERVER, raw=raw),
        "devices_to_irs": packed(TO_IRS, raw=raw),
        "gamma": 2,
        "phase_bits": 2,
        "initial_phases": packed(PHASES, raw=raw),
        "weights": [1] * 5,
        "algorithm": {"name": "matching_pursuit", "phase_update": "bcd"},
    }


def test_schedule_irs_with_devices_first(call):
    service = Service(schedule_answer("msgpack", phases=PHASES))
    arrays = [DIRECT.T, TO_SERVER, TO_IRS.T]
    settings = service.settings
    call("http://test", settings, "schedule_irs", *arrays, layout="devices_first", gamma=2)
    for name, expected in [
        ("direct", DIRECT),
        ("irs_to_server", TO_SERVER),
        ("devices_to_irs", TO_IRS),
    ]:
        np.testing.assert_array_equal(unpacked(service.body[name]), expected)


@pytest.mark.parametrize("encoding", MEDIA_TYPES)
@pytest.mark.parametrize("layout", ["antennas_first", "devices_first"])
def test_schedule_batch(call, encoding, layout):
    batch = np.stack([DIRECT, 2 * DIRECT])
    given = batch if layout == "antennas_first" else batch.transpose(0, 2, 1)
    answer = {**schedule_answer(encoding), "active_ids": None}
    service = Service({"device_ids": list("abcde"), "schedules": [answer] * 2}, encoding)
    schedules = call(
        "http://test", service.settings, "schedule_batch", given, layout=layout, gamma=2
    )
    assert len(schedules) == 2
    for schedule in schedules:
        expect_schedule(schedule)
    assert service.requests[0].url.path == "/schedule/batch"
    raw = encoding == "msgpack"
    assert service.body == {"channels": packed(batch, raw=raw), "gamma": 2}


def test_a_batch_with_schedules_missing(call):
    service = Service({"device_ids": None, "schedules": [schedule_answer("msgpack")]})
    with pytest.raises(UnexpectedAnswerError, match="1 schedules for 2 channel matrices"):
        call("http://test", service.settings, "schedule_batch", np.ones((2, 3, 5)), gamma=2)


def test_an_answer_in_the_other_encoding(call):
    """Such as from a gateway that translates."""
    content = json.dumps(schedule_answer("json")).encode()
    headers = {"Content-Type": "application/json; charset=utf-8"}
    transport = httpx.MockTransport(
        lambda request: httpx.Response(200, content=content, headers=headers)
    )
    expect_schedule(call("http://test", {"transport": transport}, "schedule", DIRECT, gamma=1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gama_db": 3}, "no option 'gama_db'; did you mean 'gamma_db'"),
        ({"channel": 3}, "no option 'channel'"),
        ({"phase_bits": 3}, "no option 'phase_bits'"),
        ({"algorithm": {"name": "random", "x": object()}}, "cannot send a object"),
    ],
)
def test_options_that_there_are_not(call, options, message):
    service = Service(None)
    with pytest.raises(TypeError, match=message):
        call("http://test", service.settings, "schedule", DIRECT, **options)
    assert service.requests == []
