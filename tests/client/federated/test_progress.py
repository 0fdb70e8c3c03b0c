"""The bar that says how far a comparison is."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from airsched_client.federated.experiment import Experiment, Record
from airsched_client.federated.progress import progress

TWO = Experiment(policies=("perfect", "dual_pursuit"), rounds=3)


def rounds_of(experiment):
    return [
        Record(*run, number, (0, 2), None, 0.25, 0.5, 1.0)
        for run in experiment.runs()
        for number in range(experiment.rounds)
    ]


def shown(finished, records, **options):
    console = Console(file=io.StringIO(), width=80, **options)
    with progress(TWO, finished, console) as on_round:
        for record in records:
            on_round(record)
    return [line for line in console.file.getvalue().splitlines() if "/6" in line]


@pytest.mark.parametrize("before", [0, 2, 4])
def test_rounds_are_counted_with_those_of_earlier_calls(before):
    records = rounds_of(TWO)
    last = shown(records[:before], records[before:5], force_terminal=True)[-1]
    assert "5/6" in last
    assert "dual_pursuit at 10 dB, seed" in last
    assert "|S|  2  error 0.25  score 0.500" in last


def test_a_round_that_is_done_again_counts_once():
    records = rounds_of(TWO)
    assert "3/6" in shown(records[:3], records[2:3], force_terminal=True)[-1]


def test_rounds_beyond_those_asked_for_do_not_count():
    assert "3/6" in shown(rounds_of(replace(TWO, rounds=9))[:9], [], force_terminal=True)[-1]


def test_nothing_is_written_to_a_file():
    assert shown([], rounds_of(TWO)) == []
