"""Interrupted, killed and finished experiments go on, bit for bit."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from airsched_client.federated.__main__ import main
from airsched_client.federated.checkpoint import Model, RunFiles, read_records
from airsched_client.federated.comparison import compare
from airsched_client.federated.experiment import Record
from tests.client.federated.small import ONE, SMALL, assert_same


@pytest.fixture(scope="module")
def uninterrupted(scheduler, tmp_path_factory):
    folder = tmp_path_factory.mktemp("uninterrupted")
    compare(SMALL, scheduler, folder)
    return folder


def test_every_policy_tolerance_and_seed_has_all_rounds(uninterrupted):
    records = read_records(uninterrupted)
    runs = SMALL.runs()
    # perfect once a seed, the other four at two tolerances.
    assert len(runs) == 2 * (1 + 4 * 2)
    assert [(r.run, r.round) for r in records] == [(run, n) for run in runs for n in range(3)]
    for record in records:
        if record.policy == "perfect":
            assert record.active == tuple(range(6))
            assert record.computation_error is None
        elif record.active:
            assert record.computation_error <= 0.1 * 10 ** (record.gamma_db / 10) * (1 + 1e-9)
            # A mean over 2410 symbols.
            assert record.measured_error == pytest.approx(record.computation_error, rel=0.1)


@pytest.mark.parametrize("finished", [1, 3, 4, 20, 53])
def test_resumed_equals_uninterrupted(scheduler, uninterrupted, tmp_path, finished):
    counted = []

    def interrupt(record):
        counted.append(record)
        if len(counted) == finished:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare(SMALL, scheduler, tmp_path, on_round=interrupt)
    assert len(read_records(tmp_path)) == finished
    told = []
    compare(SMALL, scheduler, tmp_path, resume=True, on_round=told.append)
    assert len(told) == len(SMALL.runs()) * 3 - finished
    assert_same(tmp_path, uninterrupted)


def test_a_line_that_no_checkpoint_counts_is_done_again(scheduler, uninterrupted, tmp_path):
    def interrupt(record):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare(SMALL, scheduler, tmp_path, on_round=interrupt)
    with (tmp_path / "runs" / "perfect-seed0.jsonl").open("a") as file:
        file.write('{"policy": "perfect", "gam')
    compare(SMALL, scheduler, tmp_path, resume=True)
    assert_same(tmp_path, uninterrupted)


def test_resuming_what_is_complete_or_not_begun(scheduler, uninterrupted, tmp_path):
    told = []
    compare(SMALL, scheduler, uninterrupted, resume=True, on_round=told.append)
    assert told == []
    compare(ONE, scheduler, tmp_path / "new", resume=True, on_round=told.append)
    assert len(told) == 4


def test_results_are_never_overwritten_or_mixed(scheduler, uninterrupted):
    with pytest.raises(FileExistsError, match="resume"):
        compare(SMALL, scheduler, uninterrupted)
    with pytest.raises(ValueError, match="another noise_variance, epochs"):
        compare(ONE, scheduler, uninterrupted, resume=True)


def test_a_killed_process_resumes_bit_for_bit(service_url, tmp_path):
    command = [
        *("--url", service_url, "--devices", "6", "--antennas", "3", "--samples", "120"),
        *("--policies", "dual_pursuit", "random", "--gamma-db", "15", "--rounds", "20"),
        *("--epochs", "1"),
    ]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert main([*command, "--output", str(whole)]) == 0
    process = subprocess.Popen(
        [sys.executable, "-m", "airsched_client.federated", *command, "--output", str(killed)],
        stdout=subprocess.DEVNULL,
    )
    give_up = time.monotonic() + 60
    lines = killed / "runs" / "dual_pursuit@15dB-seed0.jsonl"
    while not lines.exists() or lines.read_text().count("\n") < 5:
        assert time.monotonic() < give_up
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert main(["--url", service_url, "--output", str(killed), "--resume"]) == 0
    assert_same(whole, killed)


def test_a_checkpoint_without_its_lines_is_refused(tmp_path):
    (run,) = ONE.runs()
    files = RunFiles(tmp_path, run)
    assert files.model is None
    files.add(Record(*run, 0, (1,), 0.1, 0.1, 0.5, 1.0), Model(np.ones(3), np.zeros(2)))
    again = RunFiles(tmp_path, run)
    assert again.records == files.records
    np.testing.assert_array_equal(again.model.statistics, [0, 0])
    next((tmp_path / "runs").glob("*.jsonl")).write_text("")
    with pytest.raises(ValueError, match="lacks 1"):
        RunFiles(tmp_path, run)
