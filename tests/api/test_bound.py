"""A bound beside a schedule, over HTTP: what it says, what it leaves alone, what it costs."""

import time

import numpy as np
import pytest

from app.api.responses import BatchAnswer, ScheduleAnswer
from app.scheduling import SCHEDULERS, Problem, SolveSpec, solve
from app.scheduling.solver import solve_until
from lab.channels import iid_channels
from lab.oracles.exhaustive import most_devices
from tests.api.bodies import nested

CHANNELS = iid_channels(np.random.default_rng(60), 4, 10)
ASK = {"channels": nested(CHANNELS), "gamma_db": -1.0}
LARGE = iid_channels(np.random.default_rng(61), 8, 60)
BEST = most_devices(Problem(CHANNELS, np.ones(10), 10**-0.1))


def post(client, body, path="/schedule"):
    response = client.post(path, json=body)
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.parametrize("algorithm", ["matching_pursuit", "dual_pursuit", "dc", "random"])
def test_the_answer_gains_two_fields(client, algorithm):
    plain = post(client, {**ASK, "algorithm": algorithm})
    answer = post(client, {**ASK, "algorithm": algorithm, "bound": True, "bound_ms": 20_000})
    ScheduleAnswer.model_validate(answer)
    assert answer.pop("upper_bound") == BEST
    assert answer.pop("optimal") == (len(answer["active"]) == BEST)
    assert answer == plain


def test_optimal_needs_no_asking(client):
    answer = post(client, {**ASK, "algorithm": "optimal"})
    assert answer["upper_bound"] == len(answer["active"]) == BEST
    assert answer["optimal"] is True
    asked = {**ASK, "algorithm": "optimal", "bound": True, "bound_ms": 1}
    assert post(client, asked) == answer


def test_batch(client):
    other = iid_channels(np.random.default_rng(62), 4, 10)
    body = {**ASK, "channels": nested([CHANNELS, other]), "bound": True, "bound_ms": 20_000}
    answer = post(client, body, "/schedule/batch")
    BatchAnswer.model_validate(answer)
    bounds = [schedule["upper_bound"] for schedule in answer["schedules"]]
    best = most_devices(Problem(other, np.ones(10), 10**-0.1))
    assert bounds == [BEST, best]


@pytest.mark.parametrize(
    ("fields", "loc"),
    [
        ({"bound_ms": 5}, "bound_ms"),
        ({"bound": False, "bound_ms": 5}, "bound_ms"),
        ({"bound": True, "bound_ms": 0}, "bound_ms"),
        ({"bound": True, "bound_ms": -1}, "bound_ms"),
        ({"bound": True, "bound_ms": "long"}, "bound_ms"),
        ({"bound": 1}, "bound"),
        ({"bound": None}, "bound"),
    ],
)
def test_what_is_rejected(client, fields, loc):
    response = client.post("/schedule", json={**ASK, **fields})
    assert response.status_code == 422
    assert response.json()["errors"][0]["loc"] == [loc]


def test_with_a_surface_it_counts_who_could_be_served_alone(client):
    """Both have direct channels of 0.5; the surface adds 1 to the first, and 0.1 to the other."""
    body = {
        "direct": nested(np.full((1, 2), 0.5)),
        "irs_to_server": nested(np.ones((1, 1))),
        "devices_to_irs": nested(np.array([[1.0, 0.1]])),
        "gamma": 1.0,
        "bound": True,
    }
    answer = post(client, body, "/schedule/irs")
    assert answer["active"] == [0]
    assert answer["upper_bound"] == 1
    assert answer["optimal"] is True


def test_a_long_proof_ends_at_the_deadline_and_leaves_the_schedule(client):
    body = {"channels": nested(LARGE), "gamma_db": -1.0}
    limits = {"bound": True, "bound_ms": 60_000, "deadline_ms": 1_500}
    answer = post(client, {**body, **limits})
    assert answer["optimal"] is False
    assert len(answer["active"]) < answer["upper_bound"] < 60
    assert answer["active"] == post(client, body)["active"]


def test_bounds_of_a_batch_come_after_its_schedules(client):
    """All of them together would take much longer than the deadline."""
    rounds = np.repeat(LARGE[None], 30, axis=0)
    body = {"channels": nested(rounds), "gamma_db": -1.0, "algorithm": "dual_pursuit"}
    limits = {"bound": True, "bound_ms": 1_000, "deadline_ms": 3_000}
    schedules = post(client, {**body, **limits}, "/schedule/batch")["schedules"]
    assert len(schedules) == 30
    bounds = [schedule["upper_bound"] for schedule in schedules]
    assert bounds[0] < bounds[-1] <= 60


def test_a_proof_in_a_process_ends_before_the_process_is_killed():
    scheduler = SCHEDULERS["sdr"]
    spec = SolveSpec(scheduler, scheduler.parameters(), bound=True, bound_ms=60_000.0)
    problem = Problem(LARGE, np.ones(60), 10**-0.1)
    solve(problem, "sdr")
    begun = time.monotonic()
    (schedule,) = solve_until([problem], spec, begun + 0.5)
    assert time.monotonic() - begun < 10
    assert schedule.upper_bound >= schedule.active.size > 0
