"""A service whose kernels are not all compiled serves what is, and says so about the rest."""

import asyncio
import fcntl
import gc
import logging
import os
import shutil
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import httpx
import pytest

from app import warmup
from app.api.examples import EXAMPLES
from app.api.scheduling import REQUESTS
from app.scheduling import SCHEDULERS, SolveSpec
from app.scheduling.kernels.compile import CACHE, lock_path
from app.settings import Settings
from app.warmup import DEFAULT, FIRST, PARTS, STAMP, Readiness
from tests.conftest import running_service

LATE = [name for name in PARTS if name not in FIRST]


@contextmanager
def starting_service():
    """Run a service for which all but the first kernels are missing until the event is set."""
    finish = threading.Event()

    async def compile_slowly(niceness):
        for name in PARTS:
            while name in LATE and not finish.is_set():
                await asyncio.sleep(0.01)
            yield name

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(warmup, "uncached_parts", lambda: list(PARTS))
        patch.setattr(warmup, "compile_uncached", compile_slowly)
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
    assert f"{DEFAULT} compiled, {len(LATE)} parts to go" in caplog.text
    assert "all kernels are loaded" in caplog.text


def test_a_service_can_stop_while_kernels_are_compiled():
    with starting_service():
        started = time.monotonic()
    assert time.monotonic() - started < 10


@pytest.mark.anyio
async def test_a_failed_start_is_tried_again(monkeypatch, caplog):
    monkeypatch.setattr(warmup, "RETRY_SECONDS", 0.0)
    errors = [OSError("no memory"), OSError("no memory")]

    def start_solvers():
        if errors:
            raise errors.pop()

    readiness = Readiness(start_solvers)
    await readiness.run()
    readiness.require_ready()
    scheduler = SCHEDULERS[warmup.DEFAULT]
    readiness.require_compiled(SolveSpec(scheduler, scheduler.parameters()), *PARTS)
    assert caplog.text.count("OSError: no memory") == 2


@pytest.mark.anyio
async def test_collecting_garbage_does_not_look_at_all_that_was_loaded():
    await Readiness(lambda: None).run()
    try:
        assert gc.get_freeze_count() > 50_000
        begun = time.thread_time()
        gc.collect()
        partly = time.thread_time() - begun
    finally:
        gc.unfreeze()
    begun = time.thread_time()
    gc.collect()
    assert partly < 0.5 * (time.thread_time() - begun)


@pytest.mark.anyio
async def test_a_child_that_fails_is_an_error(monkeypatch, capfd):
    monkeypatch.setattr(warmup, "uncached_parts", lambda: ["a part that does not exist"])
    with pytest.raises(RuntimeError, match="ended early"):
        await anext(warmup.compile_uncached())
    assert "KeyError: 'a part that does not exist'" in capfd.readouterr().err


def test_environments_with_the_same_versions_share_the_kernels():
    look = "import sys; sys.prefix = '/another'; from app.scheduling.kernels import compile"
    command = [sys.executable, "-c", f"{look}; print(compile.CACHE)"]
    assert subprocess.check_output(command, text=True).strip() == str(CACHE)


def run_warmup(folder):
    command = [sys.executable, "-m", "app.warmup"]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def test_one_process_at_a_time_compiles_and_removes_what_it_replaces(tmp_path):
    here = tmp_path / CACHE.name
    # Already compiled, so that it takes seconds, but not known to be.
    shutil.copytree(CACHE, here, ignore=shutil.ignore_patterns(STAMP))
    old = tmp_path / f"{CACHE.name[:-16]}{16 * '0'}"
    of_another = tmp_path / "airsched-00000000-0000000000000000"
    old.mkdir()
    of_another.mkdir()
    with (tmp_path / lock_path().name).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with run_warmup(tmp_path) as process:
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(5)
            assert not (here / STAMP).exists()
            fcntl.flock(lock, fcntl.LOCK_UN)
            lines = process.stdout.read().splitlines()
    assert process.returncode == 0
    assert sorted(line.split(": ")[1] for line in lines) == sorted(PARTS)
    assert (here / STAMP).read_text().split() == list(PARTS)
    assert of_another.exists()
    assert not old.exists()


def test_the_command_says_nothing_if_all_is_compiled():
    with run_warmup(CACHE.parent) as process:
        assert process.stdout.read() == ""
    assert process.returncode == 0


KERNELS = {
    "callee.py": """from compile import compiled


@compiled
def answer():
    return 1
""",
    "caller.py": """from callee import answer
from compile import compiled


@compiled
def ask():
    return answer()


print(ask())
""",
}


@pytest.mark.parametrize("place", ["told", "beside", "home"])
def test_a_kernel_is_compiled_again_when_one_that_it_calls_has_changed(tmp_path, place):
    folder = tmp_path / "kernels"
    folder.mkdir()
    shutil.copy("app/scheduling/kernels/compile.py", folder)
    for name, text in KERNELS.items():
        (folder / name).write_text(text)
    if place == "home":
        # Nothing can be written beside the source.
        (folder / "__pycache__").touch()
    cache = {
        "told": tmp_path / "told",
        "beside": folder / "__pycache__",
        "home": tmp_path / "home",
    }[place]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "home"), "NUMBA_CACHE_DIR": ""}
    if place == "told":
        environment["NUMBA_CACHE_DIR"] = str(cache)

    def ask():
        command = [sys.executable, "-B", folder / "caller.py"]
        return subprocess.run(command, env=environment, capture_output=True, check=True).stdout

    assert ask() == b"1\n"
    compiled = set(cache.rglob("*.nbc"))
    assert len(compiled) == 2
    assert ask() == b"1\n"
    assert set(cache.rglob("*.nbc")) == compiled
    (folder / "callee.py").write_text(KERNELS["callee.py"].replace("1", "2"))
    assert ask() == b"2\n"
