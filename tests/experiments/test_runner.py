"""Sweeps: order, cache, what happens after a stop, and the same numbers on every backend."""

import io

import numpy as np
import pytest
from rich.console import Console

from experiments.measurements import count_active
from experiments.runner import Runner, backend
from lab.oracles import plain_pursuit


def square(number, log=None, worst=None):
    """Note that it was called; fail for ``worst``."""
    if log is not None:
        with open(log, "a") as file:
            file.write(f"{number}\n")
    if number == worst:
        raise ValueError("stopped")
    return number**2


@pytest.fixture
def runner(tmp_path):
    return Runner(tmp_path / "cache", jobs=2, console=Console(file=io.StringIO()))


NUMBERS = [{"number": number} for number in (3, 1, 2)]


@pytest.mark.parametrize("in_parallel", [False, True])
def test_results_come_in_the_order_of_the_calls(runner, in_parallel):
    assert runner.sweep("squares", square, NUMBERS, in_parallel=in_parallel) == [9, 1, 4]


def test_a_stopped_sweep_resumes(runner, tmp_path):
    log = tmp_path / "log"
    with pytest.raises(ValueError, match="stopped"):
        runner.sweep("squares", square, NUMBERS, in_parallel=False, log=str(log), worst=2)
    assert log.read_text().split() == ["3", "1", "2"]
    assert runner.sweep("squares", square, NUMBERS, in_parallel=False, log=str(log)) == [9, 1, 4]
    assert log.read_text().split() == ["3", "1", "2", "2"]


def test_fresh_runs_what_the_cache_holds(runner, tmp_path):
    runner.sweep("squares", square, NUMBERS)
    log = tmp_path / "log"
    anew = Runner(runner.cache, fresh=True, console=Console(file=io.StringIO()))
    anew.sweep("squares", square, NUMBERS, in_parallel=False, log=str(log))
    assert log.read_text().split() == ["3", "1", "2"]


CALLS = [
    {
        "model": "iid",
        "algorithm": "matching_pursuit",
        "parameters": {"delta": 0.4, "search": "backward"},
        "gamma_db": gamma_db,
        "count": 6,
        "seed": 5,
        "antennas": 6,
        "devices": 20,
    }
    for gamma_db in (-4.0, 0.0, 4.0)
]


def plain_counts(call):
    """Draw the same channels and schedule them by a plain loop of SVDs."""
    rng = np.random.default_rng(call["seed"])
    counts = []
    for _ in range(call["count"]):
        real, imaginary = rng.standard_normal((2, 6, 20)) / np.sqrt(2)
        required = np.full(20, 10 ** (-call["gamma_db"] / 10))
        _, active, _ = plain_pursuit.backward(
            real + 1j * imaginary, required, call["parameters"]["delta"]
        )
        counts.append(int(active.sum()))
    return counts


@pytest.mark.parametrize("name", ["sequential", "loky", "dask", "ray"])
@pytest.mark.filterwarnings("default")
def test_every_backend_gives_the_same_numbers(runner, name, monkeypatch):
    package = {"dask": "distributed"}.get(name, name)
    if name in ("dask", "ray"):
        pytest.importorskip(package, reason=f"{package} comes with the group cluster")
    # A cluster of this machine for this test needs no token, which Ray would write to the home.
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with backend(name):
        assert runner.sweep(name, count_active, CALLS) == [plain_counts(call) for call in CALLS]


def test_an_address_needs_a_cluster():
    with pytest.raises(ValueError, match="dask and ray"), backend("loky", "somewhere:8786"):
        pass
