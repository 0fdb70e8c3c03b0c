"""Processes killed under load: clients that repeat their request all get the right answer."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import psutil
import pytest

from app.settings import Settings
from benchmarks.service import running_command
from tests.faults.rounds import known_round

ROUNDS = [known_round("dc", seed) for seed in range(80, 88)]
SECONDS = 5


def ask(client, known):
    """Post a round until it is answered, and return how many times that took."""
    give_up = time.monotonic() + 60
    for attempt in range(1, 1000):
        assert time.monotonic() < give_up
        try:
            answer = client.post("/schedule", json=known.body)
        except httpx.TransportError:
            time.sleep(0.1)
            continue
        if answer.status_code in (500, 503):
            assert "died" in answer.text or answer.status_code == 503, answer.text
            time.sleep(0.02)
            continue
        known.check(answer)
        return attempt
    raise AssertionError("never answered")


def under_load(address, victims):
    """Kill one of ``victims()`` every now and then, beside clients that ask for known rounds.

    Returns how many were killed, how many rounds answered, and how many requests that took.
    """
    stop = threading.Event()

    def work(number):
        attempts = []
        with httpx.Client(base_url=address, timeout=30) as client:
            while not stop.is_set():
                attempts.append(ask(client, ROUNDS[(number + len(attempts)) % len(ROUNDS)]))
        return attempts

    killed = 0
    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(work, number) for number in range(4)]
        give_up = time.monotonic() + SECONDS
        while time.monotonic() < give_up:
            time.sleep(0.2)
            for victim in victims()[:1]:
                victim.kill()
                killed += 1
        stop.set()
        attempts = [attempt for future in futures for attempt in future.result()]
    return killed, len(attempts), sum(attempts)


def solvers(process):
    """Return the solver processes: they are nicer than the service."""
    found = []
    for child in psutil.Process(process.pid).children(recursive=True):
        try:
            if child.nice() > psutil.Process(process.pid).nice():
                found.append(child)
        except psutil.NoSuchProcess:
            continue
    return found


def test_killed_solver_processes(process, address):
    killed, rounds, requests = under_load(address, lambda: solvers(process))
    assert killed >= 5
    assert rounds > 20
    assert requests > rounds, "no kill hit a solve"
