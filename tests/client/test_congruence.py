"""Every way to a schedule gives the same one, bit by bit: both clients, both encodings, the core.

The surface and the batch are compared where the service offers them.
"""

from dataclasses import asdict
from itertools import product

import numpy as np
import pytest

from app.scheduling import SCHEDULERS, Problem, solve
from lab.channels import iid_channels
from tests.client.callers import CALLERS

ANTENNAS, DEVICES, ELEMENTS = 4, 10, 8
WEIGHTS = np.linspace(0.8, 1.2, DEVICES)
GAMMA = 0.9
SEED = 7
WAYS = list(product(CALLERS, ["msgpack", "json"]))

VARIANTS = [
    pytest.param(name, parameters, id=f"{name}-{parameters}")
    for name, scheduler in SCHEDULERS.items()
    for parameters in scheduler.variants()
]


FOUND_BY_THE_CORE = (
    *("feasible", "active", "receiver", "power_factor", "computation_error", "transmit_scalars"),
    *("iterations", "stopped", "upper_bound"),
)


def bits(value):
    """Return a field in a form that is equal only if all its bits are."""
    is_array = isinstance(value, np.ndarray)
    return (value.dtype, value.shape, value.tobytes()) if is_array else value


def all_bits(schedule):
    about_the_call = ("request_id", "server_timing")
    return {
        name: bits(value) for name, value in vars(schedule).items() if name not in about_the_call
    }


def every_way(url, method, *arguments, **options):
    """Return the answers by each client in each encoding."""
    return [
        CALLERS[caller](url, {"encoding": encoding}, method, *arguments, **options)
        for caller, encoding in WAYS
    ]


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize(("name", "parameters"), VARIANTS)
def test_schedule(service_url, name, parameters, dtype):
    rng = np.random.default_rng(62)
    channels = iid_channels(rng, ANTENNAS, DEVICES).astype(dtype)
    found = every_way(
        service_url,
        "schedule",
        channels,
        weights=WEIGHTS,
        gamma=GAMMA,
        seed=SEED,
        algorithm={"name": name, **asdict(parameters)},
    )
    expected = solve(Problem(channels, WEIGHTS, GAMMA), name, parameters, seed=SEED)
    # A test of nobody's schedule would be one of nothing.
    assert expected.active.size > 0
    for schedule in found:
        for field in FOUND_BY_THE_CORE:
            assert bits(getattr(schedule, field)) == bits(getattr(expected, field))
        assert all_bits(schedule) == all_bits(found[0])
        assert schedule.algorithm == {"name": name, **asdict(parameters)}


def test_bound(service_url):
    """Small enough to be proven in time, so that the bound does not depend on the time either."""
    channels = iid_channels(np.random.default_rng(64), ANTENNAS, DEVICES)
    options = {"weights": WEIGHTS, "gamma": GAMMA, "bound": True, "bound_ms": 20_000}
    expected = solve(Problem(channels, WEIGHTS, GAMMA), bound=True, bound_ms=20_000)
    best = solve(Problem(channels, WEIGHTS, GAMMA), "optimal").active.size
    for schedule in every_way(service_url, "schedule", channels, **options):
        assert (schedule.upper_bound, schedule.optimal) == (best, expected.optimal)
    for schedules in every_way(service_url, "schedule_batch", channels[None], **options):
        assert (schedules[0].upper_bound, schedules[0].optimal) == (best, expected.optimal)
    for schedule in every_way(service_url, "schedule", channels, gamma=GAMMA):
        assert (schedule.upper_bound, schedule.optimal) == (None, None)


def algorithms_of(client, path):
    offered = client.get("/algorithms").json()["algorithms"]
    return [item["name"] for item in offered if path in item["endpoints"]]


def test_batch(service_url, client):
    rng = np.random.default_rng(63)
    channels = np.stack([iid_channels(rng, ANTENNAS, DEVICES) for _ in range(3)])
    options = {"weights": WEIGHTS, "gamma": GAMMA, "seed": SEED}
    for name in algorithms_of(client, "/schedule/batch"):
        alone = [
            every_way(service_url, "schedule", matrix, algorithm=name, **options)[0]
            for matrix in channels
        ]
        for found in every_way(service_url, "schedule_batch", channels, algorithm=name, **options):
            assert list(map(all_bits, found)) == list(map(all_bits, alone))


def test_irs(service_url, client):
    rng = np.random.default_rng(64)
    arrays = [
        iid_channels(rng, *shape)
        for shape in [(ANTENNAS, DEVICES), (ANTENNAS, ELEMENTS), (ELEMENTS, DEVICES)]
    ]
    options = {"weights": WEIGHTS, "gamma": GAMMA, "seed": SEED, "phase_bits": 2}
    for name in algorithms_of(client, "/schedule/irs"):
        first, *others = every_way(service_url, "schedule_irs", *arrays, algorithm=name, **options)
        assert first.phases.shape == (ELEMENTS,)
        for other in others:
            assert all_bits(other) == all_bits(first)
