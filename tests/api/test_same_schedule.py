"""The same request gives the same schedule, bit for bit, whichever way it takes on one machine."""

import time

import httpx
import msgpack
import numpy as np
import pytest

from app.scheduling import Problem, solve
from lab.channels import iid_channels
from lab.service import running_command
from tests.api.bodies import nested, packed, unpacked

ALGORITHMS = ["matching_pursuit", "dual_pursuit", "sdr", "optimal", "random"]
"""On the event loop, in threads and in solver processes; with and without randomness."""

ROUNDS = [iid_channels(np.random.default_rng(seed), 4, 12) for seed in range(80, 84)]
MSGPACK = {"Content-Type": "application/msgpack", "Accept": "application/msgpack"}


def bits(answer):
    """Return all that is scheduled, to be compared exactly."""
    receiver, scalars = unpacked(answer["receiver"]), unpacked(answer["transmit_scalars"])
    return (
        answer["active"],
        answer["power_factor"],
        answer["computation_error"],
        receiver.tobytes(),
        scalars.tobytes(),
    )


def expected(channels, algorithm):
    problem = Problem(channels, np.ones(channels.shape[1]), gamma=1.0)
    found = solve(problem, algorithm, seed=5)
    arrays = (found.receiver.tobytes(), found.transmit_scalars.tobytes())
    return (found.active.tolist(), found.power_factor, found.computation_error, *arrays)


def answered(client, path, channels, **fields):
    """Return what the service answers to JSON, to packed arrays, and to MessagePack."""
    body = {"gamma": 1.0, "seed": 5, **fields}
    answers = [
        client.post(path, json={**body, "channels": encoded}).json()
        for encoded in (nested(channels), packed(channels))
    ]
    content = msgpack.packb({**body, "channels": packed(channels, raw=True)})
    answers.append(msgpack.unpackb(client.post(path, content=content, headers=MSGPACK).content))
    return answers


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_json_messagepack_and_batch(client, algorithm):
    exact = [expected(channels, algorithm) for channels in ROUNDS]
    for channels, schedule in zip(ROUNDS, exact, strict=True):
        for answer in answered(client, "/schedule", channels, algorithm=algorithm):
            assert bits(answer) == schedule
    for answer in answered(client, "/schedule/batch", np.stack(ROUNDS), algorithm=algorithm):
        assert [bits(each) for each in answer["schedules"]] == exact


def wait_for_workers(address):
    """Wait until so many new connections in a row are answered that every worker is ready."""
    until, in_a_row = time.monotonic() + 60, 0
    while in_a_row < 20 and time.monotonic() < until:
        is_ready = httpx.get(f"{address}/health/ready", timeout=60).is_success
        in_a_row = in_a_row + 1 if is_ready else 0
        if not is_ready:
            time.sleep(0.1)


def test_workers():
    """Every connection may get to another worker."""
    with running_command(workers=2) as (_, address):
        wait_for_workers(address)
        for algorithm in ("matching_pursuit", "dual_pursuit", "random"):
            for channels in ROUNDS:
                for _ in range(3):
                    with httpx.Client(base_url=address, timeout=60) as client:
                        for answer in answered(client, "/schedule", channels, algorithm=algorithm):
                            assert bits(answer) == expected(channels, algorithm)
