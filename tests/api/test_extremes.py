"""Anything that numbers can be, to every algorithm: an answer or a 422, never a 5xx."""

import math
import random

import pytest

from app.api.responses import FrontierAnswer, IrsScheduleAnswer, ScheduleAnswer
from app.scheduling import IRS_SCHEDULERS, SCHEDULERS
from tests.api.test_errors import assert_problem

NUMBERS = [0, 1, -1, 1e-30, 1e30, -1e30, 1e-200, 0.5]


def extreme(rng: random.Random) -> float:
    choices = [*NUMBERS, *(rng.gauss(0, 1) for _ in range(6)), 10 ** rng.uniform(-20, 20)]
    return rng.choice(choices)


def half_extreme(rng: random.Random) -> float:
    value = extreme(rng)
    return math.copysign(math.sqrt(abs(value)) / 4, value)


def matrix(rng: random.Random, rows: int, columns: int, draw=extreme) -> dict:
    def part():
        return [[draw(rng) for _ in range(columns)] for _ in range(rows)]

    return {"real": part(), "imag": part()}


def options(rng: random.Random, antennas: int, devices: int) -> dict:
    """Return the fields that both routes take, some of them left out."""
    always = {
        rng.choice(["gamma", "max_error"]): rng.choice([1, 0.1, 1e-30, 1e30, 20]),
        "coordination": rng.choice(["zero_forcing", "mmse"]),
        "polish": rng.choice([True, False]),
    }
    optional = {
        "weights": [abs(extreme(rng)) or 1 for _ in range(devices)],
        "csi_error": [abs(extreme(rng)) for _ in range(devices)],
        "warm_start": {part: rows[0] for part, rows in matrix(rng, 1, antennas).items()},
        "power": rng.choice([1e-30, 1e30, 2]),
        "noise_variance": rng.choice([1e-30, 1e30, 2]),
    }
    return always | {name: value for name, value in optional.items() if rng.random() < 0.3}


def plain_body(rng: random.Random) -> dict:
    antennas, devices = rng.randint(1, 5), rng.choice([1, 2, 3, 8])
    return {"channels": matrix(rng, antennas, devices), **options(rng, antennas, devices)}


def surface_body(rng: random.Random) -> dict:
    antennas, devices, elements = rng.randint(1, 4), rng.choice([1, 2, 3, 8]), rng.randint(1, 4)
    # Mostly such that what is reflected stays in range.
    hop = extreme if rng.random() < 0.1 else half_extreme
    past = extreme if rng.random() < 0.5 else half_extreme
    return {
        "direct": matrix(rng, antennas, devices, past),
        "irs_to_server": matrix(rng, antennas, elements, hop),
        "devices_to_irs": matrix(rng, elements, devices, hop),
        "phase_bits": rng.choice([None, None, 1, 2, 16]),
        **options(rng, antennas, devices),
    }


def frontier_body(rng: random.Random) -> dict:
    body = plain_body(rng)
    for name in ("gamma", "polish"):
        body.pop(name, None)
    return body


ROUTES = {
    "/schedule": (SCHEDULERS, plain_body, ScheduleAnswer, 80, 20),
    "/schedule/frontier": (["dual_pursuit"], frontier_body, FrontierAnswer, 80, 20),
    "/schedule/irs": (IRS_SCHEDULERS, surface_body, IrsScheduleAnswer, 150, 30),
}


@pytest.mark.parametrize(
    ("path", "algorithm"), [(path, name) for path, (names, *_) in ROUTES.items() for name in names]
)
def test_extreme_numbers_are_answered_or_refused(client, path, algorithm):
    _, body, answer, requests, least_answered = ROUTES[path]
    rng = random.Random(algorithm)
    answered = 0
    for _ in range(requests):
        response = client.post(path, json={"algorithm": algorithm, **body(rng)})
        if response.status_code == 200:
            answer.model_validate_json(response.content)
            answered += 1
        else:
            assert_problem(response, 422)
    assert answered > least_answered
