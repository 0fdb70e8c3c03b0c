"""The load generator: random arrivals, and latencies that leave out nothing."""

import asyncio
import socket
import threading
import time

import numpy as np
import pytest

from benchmarks.generator import _Pool, arrivals, run
from benchmarks.load_test.report import PERCENTILES, percentiles
from tests import virtual_time

REQUEST = b"POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\n\r\n"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Server:
    """Answers every request at once, but stalls as a whole when request ``stall_at`` comes."""

    def __init__(self, stall_at=None, stall_seconds=0.0, answer=ANSWER):
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=200)
        self.port = self._listener.getsockname()[1]
        self._stall_at, self._stall_seconds, self._answer = stall_at, stall_seconds, answer
        self._lock, self.seen = threading.Lock(), 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection:
            try:
                while connection.recv(65536):
                    with self._lock:
                        self.seen += 1
                        if self.seen == self._stall_at:
                            time.sleep(self._stall_seconds)
                    connection.sendall(self._answer)
            except OSError:
                return

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._listener.close()


def offer(server, rate, seconds, **options):
    due = arrivals(np.random.default_rng(0), rate, seconds)
    return run(server.port, REQUEST, due, seconds, connections=min(128, len(due)), **options)


def test_arrivals_are_a_poisson_process():
    rate, seconds = 500.0, 200.0
    times = np.array(arrivals(np.random.default_rng(1), rate, seconds))
    assert np.all(np.diff(times) > 0)
    assert times[-1] < seconds
    # The number has mean and variance rate · seconds; five standard deviations.
    assert abs(times.size - rate * seconds) < 5 * np.sqrt(rate * seconds)
    gaps = np.diff(times)
    # Exponential gaps: as far from the mean as the mean, and independent of the one before.
    assert np.std(gaps) / np.mean(gaps) == pytest.approx(1, abs=0.03)
    assert abs(np.corrcoef(gaps[1:], gaps[:-1])[0, 1]) < 5 / np.sqrt(gaps.size)
    shares = [np.mean(gaps > quantile / rate) for quantile in (0.5, 1, 3)]
    np.testing.assert_allclose(shares, np.exp([-0.5, -1, -3]), atol=0.01)
    counts = np.histogram(times, bins=np.arange(0, seconds + 0.01, 0.1))[0]
    assert np.var(counts) / np.mean(counts) == pytest.approx(1, abs=0.2)


def test_percentiles_are_those_of_the_sorted_latencies():
    latencies = np.random.default_rng(2).lognormal(size=2000)
    ordered = np.sort(latencies)
    found = percentiles(latencies.tolist())
    assert found == [ordered[999], ordered[1979], ordered[1997]]
    between = np.percentile(latencies, PERCENTILES)
    assert all(
        abs(np.searchsorted(ordered, value) - np.searchsorted(ordered, other)) <= 1
        for value, other in zip(found, between, strict=True)
    )
    assert percentiles(latencies[:999].tolist())[2] is None
    assert percentiles(latencies[:1000].tolist())[2] == np.sort(latencies[:1000])[998]
    assert percentiles([1.0]) == [None] * len(PERCENTILES)


def test_a_stall_delays_everything_that_arrives_meanwhile():
    rate, seconds, stall = 600.0, 1.5, 0.5
    with Server(stall_at=300, stall_seconds=stall) as server:
        outcome = offer(server, rate, seconds)
    assert server.seen == outcome.requests
    # A third of all requests arrives in the stall: three of a hundred wait for at least 91 % of it.
    # A generator that waits for its answers would see the stall in one of nine hundred.
    assert outcome.percentile(99) > 0.9 * stall


@pytest.mark.parametrize("connections", [1, 8, 500])
def test_latencies_count_from_when_requests_were_due(connections):
    """A server that answers nothing before a given time, then all at once: exact, by its clock."""
    seconds = 1.0
    due = arrivals(np.random.default_rng(3), 200.0, seconds)
    latencies, times = _in_virtual_time(due, connections, silent_until=seconds)
    np.testing.assert_allclose(sorted(latencies), sorted(seconds - time for time in due), atol=1e-9)
    np.testing.assert_allclose(times, due[:connections], atol=1e-9)


def _in_virtual_time(due, connections, silent_until):
    """Return the latencies that the generator counts, and when it sends what need not wait."""

    class Connection:
        due = 0.0

        def send(self, due):
            self.due = due
            loop = asyncio.get_running_loop()
            answer_at = max(silent_until, loop.time())
            loop.call_at(answer_at, pool.answered, self, b"HTTP/1.1 200 OK", b"")
            if loop.time() < silent_until:
                sent.append(loop.time())

    async def generate():
        nonlocal pool
        pool = _Pool(0, REQUEST, due)
        pool.free.extend(Connection() for _ in range(connections))
        pool.start()
        await pool.done

    sent, pool = [], None
    virtual_time.run(generate())
    return pool.latencies["200"], sent


def test_the_generator_takes_little_time_and_sends_on_time():
    with Server() as server:
        outcome = offer(server, 200.0, 1.0)
    assert outcome.busy < 0.5
    assert outcome.late < 0.05


class Impatient(Server):
    """Closes connections that have been idle for a while, as services do."""

    def _serve(self, connection):
        connection.settimeout(0.2)
        super()._serve(connection)


def test_connections_that_the_service_closes_for_being_idle_are_replaced():
    with Impatient() as server:
        outcome = offer(server, 30.0, 1.0)
    assert server.seen == outcome.requests


def test_anything_but_success_ends_the_run():
    refusal = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nfull"
    with Server(answer=refusal) as server, pytest.raises(RuntimeError, match=r"503[\s\S]*full"):
        offer(server, 100.0, 1.0)
    with pytest.raises(ValueError, match="nothing arrives"):
        run(1, REQUEST, [], 0.1, connections=1)


def test_a_status_that_is_expected_is_counted_apart():
    refusal = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nfull"
    with Server(answer=refusal) as server:
        outcome = offer(server, 100.0, 0.5, statuses=(200, 503))
    assert outcome.latencies["200"] == []
    assert len(outcome.latencies["503"]) == outcome.requests == server.seen


def test_closed_connections_send_again_as_soon_as_they_are_answered():
    with Server(stall_at=30, stall_seconds=0.3) as server:
        outcome = run(server.port, REQUEST, None, 1.0, connections=3)
    assert outcome.requests == server.seen
    assert 1.0 <= outcome.seconds < 5
    # No more than the three that were on their way saw the stall.
    assert 1 <= sum(latency > 0.25 for latency in outcome.latencies["200"]) <= 3
