"""Stopping a run of the figures stops everything that it started."""

import signal
import subprocess
import sys
import time

import psutil
import pytest

from lab.processes import below

SCRIPT = """
import subprocess, sys
from dataclasses import replace
from experiments.__main__ import main
from experiments.figures import FIGURES

JOBS = sys.argv[sys.argv.index("--jobs") + 1]

def wait(number):
    # In place of services. In a worker, one is always just being started.
    for _ in range(0 if JOBS == "1" else 2000):
        subprocess.Popen(["sleep", "90"])
    subprocess.run(["sleep", "90"])

NAME = "efficiency_vs_gamma"
CALLS = [{"number": number} for number in range(2)]
FIGURES[NAME] = replace(FIGURES[NAME], measure=lambda _, runner: runner.sweep("wait", wait, CALLS))
sys.exit(main([NAME, *sys.argv[1:]]))
"""


@pytest.fixture
def run(tmp_path, request):
    """Start a run with as many jobs as asked, and leave nothing of it behind."""
    folders = ["--cache", str(tmp_path / "cache"), "--output", str(tmp_path)]
    command = [sys.executable, "-c", SCRIPT, "--jobs", str(request.param), *folders]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as run:
        yield run
        for process in (run.pid, *below(run.pid)) if run.poll() is None else ():
            psutil.Process(process).kill()


@pytest.mark.parametrize("run", [1, 2], indirect=True)
def test_sigterm_stops_what_the_calls_have_started(run):
    give_up = time.monotonic() + 120
    while not (sleeping := [child for child in below(run.pid) if _name(child) == "sleep"]):
        assert run.poll() is None
        assert time.monotonic() < give_up
        time.sleep(0.05)
    run.send_signal(signal.SIGTERM)
    _, said = run.communicate(timeout=60)
    assert run.returncode == 130
    assert "the same command resumes" in " ".join(said.split())
    while any(_name(child) == "sleep" for child in sleeping):
        assert time.monotonic() < give_up
        time.sleep(0.05)


def _name(process):
    try:
        found = psutil.Process(process)
        return "" if found.status() == psutil.STATUS_ZOMBIE else found.name()
    except psutil.NoSuchProcess:
        return ""
