"""Processes killed under load: clients that repeat their request all get the right answer."""

import contextlib
import itertools
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx

from lab.processes import serving, solvers
from lab.service import running_command
from tests.faults.rounds import known_round

CLIENTS = 4


def ask(client, known):
    """Post a round until it is answered."""
    give_up = time.monotonic() + 60
    while time.monotonic() < give_up:
        try:
            answer = client.post("/schedule", json=known.body)
        except httpx.TransportError:
            # The worker that had the connection is gone.
            time.sleep(0.1)
            continue
        if not answer.is_success and answer.json()["retryable"]:
            time.sleep(0.02)
            continue
        known.check(answer)
        return
    raise AssertionError("never answered")


def kill_under_load(address, rounds, victims, kills):
    """Kill one of ``victims()`` so many times, beside clients that ask for known rounds."""
    stop = threading.Event()

    def work(number):
        turns = itertools.cycle(rounds[number:] + rounds[:number])
        with httpx.Client(base_url=address, timeout=30) as client:
            while not stop.is_set():
                ask(client, next(turns))
            # What is left after the last kill has to work.
            ask(client, next(turns))

    with ThreadPoolExecutor(CLIENTS) as pool:
        clients = [pool.submit(work, number) for number in range(CLIENTS)]
        give_up = time.monotonic() + 90
        try:
            while kills and not any(client.done() for client in clients):
                assert time.monotonic() < give_up, f"{kills} more should have been killed"
                time.sleep(0.2)
                for victim in victims()[:1]:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(victim, signal.SIGKILL)
                        kills -= 1
        finally:
            # Whatever happened: otherwise the clients would go on for ever.
            stop.set()
        for client in clients:
            client.result()


def test_killed_solver_processes(process, address):
    rounds = [known_round("dc", seed) for seed in range(80, 88)]
    rounds[0].check(httpx.post(f"{address}/schedule", json=rounds[0].body, timeout=60))
    kill_under_load(address, rounds, lambda: list(solvers(process.pid)), kills=10)


def test_killed_uvicorn_workers():
    """The supervisor replaces a worker; whoever was connected to it connects again."""
    rounds = [known_round("matching_pursuit", seed) for seed in range(80, 88)]

    def victims():
        # One at a time: the other goes on serving.
        found = serving(process.pid)
        return found if len(found) == 2 else []

    with running_command(workers=2, solver_workers=1) as (process, address):
        before = set(serving(process.pid))
        assert len(before) == 2
        kill_under_load(address, rounds, victims, kills=3)
        assert set(serving(process.pid)) != before
