"""Minutes of mixed load on one service: every answer right, and memory flat. ``make soak``."""

import os
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from statistics import median

import httpx
import psutil
import pytest

from lab.service import running_command
from tests.faults.rounds import known_round

SECONDS = int(os.environ.get("SOAK_SECONDS", "300"))
CLIENTS = 6
ALLOWED = 20 * 2**20
"""Growth that is put down to noise: a leak of some hundred bytes a request is more."""

SIZES = {
    "matching_pursuit": [(6, 20), (16, 100)],
    "dual_pursuit": [(6, 20), (16, 100)],
    "dc": [(6, 20)],
    "sdr": [(6, 20)],
    "proportional_fair": [(6, 20)],
    "exhaustive": [(3, 8)],
}


def resident_bytes(process):
    """Return the resident memory of the service and of all processes below it."""
    root = psutil.Process(process.pid)
    total = 0
    for item in (root, *root.children(recursive=True)):
        try:
            total += item.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total


@pytest.mark.soak
def test_memory_is_flat():
    rounds = [
        known_round(algorithm, seed, *size)
        for algorithm, sizes in SIZES.items()
        for size in sizes
        for seed in range(5)
    ]
    bad = [
        {"content": b"\x00not json", "headers": {"Content-Type": "application/json"}},
        {"json": {"channels": {"real": [[1.0]], "imag": [[1.0, 2.0]]}, "gamma": 1}},
        {"json": {**known_round("dc", 0, 8, 200).body, "deadline_ms": 30}},
    ]
    stop = threading.Event()

    def work(seed):
        rng, count = random.Random(seed), 0
        with httpx.Client(base_url=address, timeout=60) as client:
            while not stop.is_set():
                if rng.random() < 0.02:
                    answer = client.post("/schedule", **rng.choice(bad))
                    assert answer.status_code in (400, 422, 504), answer.text
                else:
                    known = rng.choice(rounds)
                    known.check(client.post("/schedule", json=known.body))
                count += 1
        return count

    with running_command(solver_workers=2) as (process, address), ThreadPoolExecutor() as pool:
        workers = [pool.submit(work, seed) for seed in range(CLIENTS)]
        samples = []
        give_up = time.monotonic() + SECONDS
        while time.monotonic() < give_up and not any(worker.done() for worker in workers):
            time.sleep(1)
            samples.append(resident_bytes(process))
        stop.set()
        requests = sum(worker.result() for worker in workers)
    quarter = len(samples) // 4
    # The first quarter is for pools and caches to fill.
    early, late = median(samples[quarter : 2 * quarter]), median(samples[-quarter:])
    print(
        f"{requests} requests in {SECONDS} s; resident memory of all processes: "
        f"{early / 2**20:.0f} MiB in the second quarter, {late / 2**20:.0f} MiB in the last, "
        f"{max(samples) / 2**20:.0f} MiB at most"
    )
    assert late - early < ALLOWED
