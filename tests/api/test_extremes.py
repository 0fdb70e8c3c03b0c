"""Anything that numbers can be, to every algorithm: an answer or a 422, never a 5xx."""

import random

import pytest

from app.api.responses import ScheduleAnswer
from app.scheduling import SCHEDULERS
from tests.api.test_errors import assert_problem

NUMBERS = [0, 1, -1, 1e-30, 1e30, -1e30, 1e-200, 0.5]


def extreme(rng: random.Random) -> float:
    choices = [*NUMBERS, *(rng.gauss(0, 1) for _ in range(6)), 10 ** rng.uniform(-20, 20)]
    return rng.choice(choices)


def extreme_body(rng: random.Random, algorithm: str) -> dict:
    antennas, devices = rng.randint(1, 5), rng.choice([1, 2, 3, 8])

    def numbers(count):
        return [extreme(rng) for _ in range(count)]

    body = {
        "algorithm": algorithm,
        "channels": {
            "real": [numbers(devices) for _ in range(antennas)],
            "imag": [numbers(devices) for _ in range(antennas)],
        },
        rng.choice(["gamma", "max_error"]): rng.choice([1, 0.1, 1e-30, 1e30, 20]),
        "coordination": rng.choice(["zero_forcing", "mmse"]),
        "polish": rng.choice([True, False]),
    }
    optional = {
        "weights": [abs(value) or 1 for value in numbers(devices)],
        "csi_error": [abs(value) for value in numbers(devices)],
        "warm_start": {"real": numbers(antennas), "imag": numbers(antennas)},
        "power": rng.choice([1e-30, 1e30, 2]),
        "noise_variance": rng.choice([1e-30, 1e30, 2]),
    }
    return body | {name: value for name, value in optional.items() if rng.random() < 0.3}


@pytest.mark.parametrize("algorithm", SCHEDULERS)
def test_extreme_numbers_are_answered_or_refused(client, algorithm):
    rng = random.Random(algorithm)
    answered = 0
    for _ in range(80):
        response = client.post("/schedule", json=extreme_body(rng, algorithm))
        if response.status_code == 200:
            ScheduleAnswer.model_validate_json(response.content)
            answered += 1
        else:
            assert_problem(response, 422)
    assert answered > 20
