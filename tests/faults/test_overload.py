"""Ten times as many requests at once as are taken: right answers, or 503 with a time to wait."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx

from lab.service import running_command
from tests.faults.rounds import known_round

TAKEN = 4
KNOWN = [known_round("dual_pursuit", seed, 16, 100) for seed in range(90, 94)]


def test_ten_times_too_many():
    begin = threading.Barrier(10 * TAKEN)

    def work(number):
        known, seen = KNOWN[number % len(KNOWN)], Counter()
        with httpx.Client(base_url=address, timeout=60) as client:
            begin.wait()
            for _ in range(20):
                answer = client.post("/schedule", json=known.body)
                seen[answer.status_code] += 1
                if answer.status_code == 503:
                    assert int(answer.headers["retry-after"]) >= 1
                else:
                    known.check(answer)
        return seen

    with running_command(max_concurrency=TAKEN, solver_workers=1) as (_, address):
        with ThreadPoolExecutor(10 * TAKEN) as pool:
            statuses = sum(pool.map(work, range(10 * TAKEN)), Counter())
            # Meanwhile nobody may take it for dead.
            assert httpx.get(f"{address}/health/live", timeout=20).status_code == 200
        assert statuses[200] >= TAKEN
        assert statuses[503] > 0
        for known in KNOWN:
            known.check(httpx.post(f"{address}/schedule", json=known.body, timeout=60))
