"""Metrics for Prometheus.

With several uvicorn workers, all of them keep their counts in ``PROMETHEUS_MULTIPROC_DIR`` and any
of them can report the sum; ``python -m app --workers`` sets this up.
"""

import os
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from prometheus_client import (
    REGISTRY,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_SECONDS = (5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
_DEVICES = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)

REQUESTS = Counter("airsched_requests_total", "Requests answered.", ["route", "method", "status"])
REQUEST_SECONDS = Histogram(
    "airsched_request_seconds",
    "Time from a request's first byte to its answer.",
    ["route", "algorithm"],
    buckets=_SECONDS,
)
SOLVE_SECONDS = Histogram(
    "airsched_solve_seconds",
    "Time in the solver, including the wait for it.",
    ["route", "algorithm"],
    buckets=_SECONDS,
)
ACTIVE_DEVICES = Histogram(
    "airsched_active_devices",
    "Devices scheduled in one round.",
    ["route", "algorithm"],
    buckets=_DEVICES,
)
QUEUE_LENGTH = Gauge(
    "airsched_queue_length",
    "Solves waiting for a thread or a process.",
    ["lane"],
    multiprocess_mode="livesum",
)
QUEUE_LIMIT = Gauge(
    "airsched_queue_limit",
    "Solves that may wait for a thread or a process.",
    ["lane"],
    multiprocess_mode="livesum",
)
IN_PROGRESS = Gauge(
    "airsched_requests_in_progress",
    "Scheduling requests whose body has arrived and whose answer is being made.",
    multiprocess_mode="livesum",
)
BYTES_IN_FLIGHT = Gauge(
    "airsched_bytes_in_flight",
    "Bytes of request bodies and of answers that are held.",
    multiprocess_mode="livesum",
)
CONNECTIONS = Gauge("airsched_connections", "Open connections.", multiprocess_mode="livesum")
REJECTED = Counter(
    "airsched_rejected_total", "Requests refused to protect the service, by cause.", ["reason"]
)
WORKER_RESTARTS = Counter(
    "airsched_worker_restarts_total", "Solver processes that were killed or died."
)


@lru_cache(maxsize=4096)
def request_counter(route: str, method: str, status: int) -> Callable[[], None]:
    """Return the function that counts one request; cached, as the lookup takes longer."""
    return REQUESTS.labels(route, method, str(status)).inc


@lru_cache(maxsize=1024)
def observers(route: str, algorithm: str) -> tuple[Callable[[float], None], ...]:
    """Return functions that record a request's seconds, its solve's, and its active devices."""
    labels = (route, algorithm)
    return (
        REQUEST_SECONDS.labels(*labels).observe,
        SOLVE_SECONDS.labels(*labels).observe,
        ACTIVE_DEVICES.labels(*labels).observe,
    )


def exposition() -> bytes:
    """Return all metrics in Prometheus' text format."""
    directory = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
    if directory is None:
        return generate_latest(REGISTRY)
    # The queue of a killed worker is gone; its counters stay.
    for file in Path(directory).glob("gauge_live*.db"):
        process = int(re.sub(r"\D", "", file.stem))
        if not _is_alive(process):
            mark_process_dead(process, directory)  # type: ignore[no-untyped-call]
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry)


def _is_alive(process: int) -> bool:
    """Return whether there is a process of this number; not every system has ``/proc``."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        # It is another user's.
        return True
    return True
