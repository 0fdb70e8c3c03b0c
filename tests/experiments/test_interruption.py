"""Stopping a run of the figures stops everything that it started."""

import signal
import subprocess
import sys
import time

import psutil
import pytest

from lab.processes import below


@pytest.fixture
def run(tmp_path, request):
    """Start a run of the figures with as many jobs as asked, and leave nothing of it behind."""
    folders = ["--cache", str(tmp_path / "cache"), "--output", str(tmp_path)]
    command = [sys.executable, "-m", "experiments", "efficiency_vs_gamma", "--jobs"]
    with subprocess.Popen(
        [*command, str(request.param), *folders], stderr=subprocess.PIPE, text=True
    ) as run:
        yield run
        if run.poll() is None:
            started = below(run.pid)
            run.kill()
            for process in filter(_alive, started):
                psutil.Process(process).kill()


@pytest.mark.parametrize("run", [1, 2], indirect=True)
def test_sigterm_stops_the_services_and_the_workers(run, tmp_path):
    give_up = time.monotonic() + 300
    # Some rounds are finished, so a service answers.
    while not list(tmp_path.glob("cache/checkpoints/*/checkpoint.npz")):
        assert run.poll() is None
        assert time.monotonic() < give_up
        time.sleep(0.05)
    started = below(run.pid)
    assert started
    run.send_signal(signal.SIGTERM)
    _, said = run.communicate(timeout=60)
    assert run.returncode == 130
    assert "the same command resumes" in " ".join(said.split())
    while left := [process for process in started if _alive(process)]:
        assert time.monotonic() < give_up, left
        time.sleep(0.05)


def _alive(process):
    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
