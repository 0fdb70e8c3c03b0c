"""What one simulated controller does: post the same round again as soon as it is answered.

One that is refused waits as long as it is told to.

Locust rounds response times to milliseconds, which is longer than most schedules take; so this file
keeps its own, from the moment that all users are there, and writes them as JSON to the path in
``LOAD_OUTCOME`` in the end.
"""

import json
import os
import time
from pathlib import Path
from typing import Any

import gevent
from locust import FastHttpUser, constant, events, task

from benchmarks.load_test.cases import CASES
from benchmarks.service import MSGPACK

BODY = CASES[os.environ["LOAD_CASE"]].body()
HEADERS = {"Content-Type": MSGPACK, "Accept": MSGPACK}


class _Record:
    """What was seen since :meth:`start`."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.refused = 0
        self.started = self.busy = float("inf")

    def start(self, **_: Any) -> None:
        self.started, self.busy = time.perf_counter(), time.process_time()

    def add(self, response_time: float, response: Any, **_: Any) -> None:
        if time.perf_counter() < self.started:
            return
        if response.status_code == 503:
            self.refused += 1
        else:
            response.raise_for_status()
            self.seconds.append(response_time / 1e3)

    def write(self, **_: Any) -> None:
        elapsed = time.perf_counter() - self.started
        outcome = {
            "seconds": self.seconds,
            "refused": self.refused,
            "elapsed": elapsed,
            "generator_load": (time.process_time() - self.busy) / elapsed,
        }
        Path(os.environ["LOAD_OUTCOME"]).write_text(json.dumps(outcome))


record = _Record()
events.spawning_complete.add_listener(record.start)
events.request.add_listener(record.add)
events.test_stopping.add_listener(record.write)


class Controller(FastHttpUser):
    """One connection, one request at a time."""

    wait_time = constant(0)

    @task
    def schedule(self) -> None:
        """Ask for a schedule."""
        answer = self.client.post("/schedule", data=BODY, headers=HEADERS)
        if answer.status_code == 503:
            gevent.sleep(float(answer.headers["retry-after"]))
