"""A service whose kernels are not all compiled serves what is, and says so about the rest."""

import logging
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import httpx
import pytest

from app import compilation, readiness
from app.api.examples import EXAMPLES
from app.api.routes import REQUESTS
from app.compilation import Compilers, missing
from app.kernel_parts import FIRST, PARTS
from app.settings import Settings
from tests.conftest import running_service

LATE = [part for part in PARTS if part.name not in FIRST]


@contextmanager
def starting_service():
    """Run a service for which all but the first kernels are missing until the event is set."""
    finish = threading.Event()

    class Slow(Compilers):
        def at_work(self, parts):
            return bool(parts)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readiness, "missing", lambda: [] if finish.is_set() else LATE)
        patch.setattr(readiness, "Compilers", Slow)
        with running_service(Settings()) as url:
            yield url, finish


def test_the_default_is_served_first_and_the_rest_when_compiled(caplog):
    caplog.set_level(logging.INFO)
    examples = {
        path: next(iter(EXAMPLES[request].values()))["value"] for path, request in REQUESTS.items()
    }
    late = [
        ("/schedule", {"algorithm": "dual_pursuit"}),
        ("/schedule", {"algorithm": "dc"}),
        ("/schedule", {"bound": True}),
        ("/schedule/batch", {"algorithm": "optimal"}),
        ("/schedule/irs", {}),
        ("/schedule/frontier", {}),
    ]
    with starting_service() as (url, finish):
        assert httpx.get(f"{url}/health/ready").status_code == 200

        def post(path, **fields):
            return httpx.post(url + path, json={**examples[path], **fields}, timeout=30)

        assert post("/schedule", polish=True, coordination="mmse").status_code == 200
        assert post("/schedule/batch").status_code == 200
        for path, fields in late:
            answer = post(path, **fields)
            assert answer.status_code == 503
            assert answer.json()["type"] == "urn:airsched:problem:compiling"
            assert f"2 of {len(PARTS)} parts" in answer.json()["detail"]
            assert answer.headers["retry-after"] == "5"
        # What is wrong is said at once.
        assert post("/schedule", algorithm="dc", gamma_db="loud").status_code == 422
        finish.set()
        give_up = time.monotonic() + 30
        while post("/schedule", algorithm="dc").status_code == 503:
            assert time.monotonic() < give_up
            time.sleep(0.05)
        assert [post(path, **fields).status_code for path, fields in late] == [200] * len(late)
    assert f"compiling {len(LATE)} of {len(PARTS)} parts" in caplog.text
    assert f"{len(PARTS)} of {len(PARTS)} parts of the kernels ready" in caplog.text


def test_a_service_can_stop_while_kernels_are_compiled():
    with starting_service():
        started = time.monotonic()
    assert time.monotonic() - started < 10


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, with nothing in it."""
    monkeypatch.setattr(compilation, "_folder", lambda: tmp_path)
    return tmp_path


def test_a_stamp_holds_only_for_the_code_numba_and_processor_it_was_made_for(cache, monkeypatch):
    assert missing() == list(PARTS)
    compilation._stamp(PARTS[0])
    assert missing() == list(PARTS[1:])
    monkeypatch.setattr(compilation, "_version", lambda: "another")
    assert missing() == list(PARTS)
    compilation._stamp(PARTS[0])
    for path in cache.glob("*.nbi"):
        path.unlink()
    assert missing() == list(PARTS)


def test_one_process_at_a_time_has_compilers(cache, monkeypatch):
    started = []
    monkeypatch.setattr(Compilers, "_start", lambda self, names: started.append(names))
    with Compilers() as first, Compilers() as second:
        first.at_work(missing())
        assert second.at_work(missing())
        assert started == [[part.name for part in PARTS]]
    with Compilers() as third:
        third.at_work(missing())
        assert len(started) == 2


def test_compilers_that_fail_are_no_longer_at_work(cache, monkeypatch):
    with Compilers() as compilers:
        give_up = time.monotonic() + 60
        # A part that does not exist.
        parts = [compilation.Part("none", lambda: None)]
        while compilers.at_work(parts):
            assert time.monotonic() < give_up
            time.sleep(0.05)


def test_a_folder_that_cannot_be_written_is_left_alone(monkeypatch, tmp_path):
    monkeypatch.setattr(compilation, "_folder", lambda: tmp_path / "none")
    with Compilers() as compilers:
        assert not compilers.at_work(missing())


def test_the_command_says_nothing_if_all_is_compiled():
    command = [sys.executable, "-m", "app.compilation"]
    assert subprocess.run(command, capture_output=True, check=True).stdout == b""
