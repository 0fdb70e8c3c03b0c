"""The report against numbers worked out by hand, and the demonstration's service."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from airsched_client import SchedulerClient
from airsched_client._extras import install_hint
from airsched_client.federated import Experiment, compare, report
from airsched_client.federated.__main__ import _experiment, _options_of, _parser, main
from airsched_client.federated.experiment import Record
from airsched_client.federated.palette import COLORS, color_of
from airsched_client.federated.report import About, _accuracy, _by_round, draw, markdown, table
from airsched_client.federated.statistics import mean_of
from airsched_client.federated.summary import summarise
from experiments.figure import Point
from experiments.series import AUTO, BIDIRECTIONAL, DUAL_PURSUIT, PERFECT, SDR_PREFIX
from experiments.summary import mean
from tests.test_docs import assert_installable


def record(policy, gamma_db, seed, number, active, error, accuracy, loss=0.5):
    return Record(
        policy, gamma_db, seed, number, tuple(range(active)), error, error, accuracy, loss
    )


RECORDS = [
    record("perfect", None, 0, 0, 4, None, 0.5),
    record("perfect", None, 0, 1, 4, None, 0.8),
    record("perfect", None, 1, 0, 4, None, 0.5),
    record("perfect", None, 1, 1, 4, None, 1.0),
    record("sdr", 3.0, 0, 0, 2, 1.0, 0.1),
    record("sdr", 3.0, 0, 1, 1, 3.0, 0.4, loss=1.0),
    record("sdr", 3.0, 1, 0, 0, None, 0.2),
    record("sdr", 3.0, 1, 1, 3, 2.0, 0.9, loss=2.0),
]


def test_summary_is_as_defined():
    perfect, sdr = summarise(RECORDS)
    assert perfect.efficiency.value == 1
    assert perfect.error is None
    assert (sdr.policy, sdr.gamma_db, sdr.seeds) == ("sdr", 3.0, 2)
    assert sdr.accuracy.value == pytest.approx(0.65)
    # Two values 0.5 apart: deviation 0.5/√2, standard error 0.25.
    assert sdr.accuracy.error == pytest.approx(0.25)
    assert sdr.loss == pytest.approx(1.5)
    assert sdr.active == pytest.approx(1.5)
    assert sdr.error == pytest.approx(2.0)
    # Ratios on the same seed, then the mean of 0.5 and 0.9.
    assert sdr.efficiency.value == pytest.approx(0.7)
    assert sdr.efficiency.error == pytest.approx(0.2)


def test_another_policy_can_be_the_perfect_one():
    renamed = [replace(r, policy="fedavg") if r.policy == "perfect" else r for r in RECORDS]
    plain, sdr = summarise(renamed, perfect="fedavg")
    assert (plain.policy, plain.efficiency.value, plain.difference) == ("fedavg", 1, None)
    assert sdr == summarise(RECORDS)[1]


def test_summary_without_reference_or_with_overflow():
    (alone,) = summarise([record("sdr", 3.0, 0, 0, 1, 1.0, 0.5, loss=None)])
    assert alone.efficiency is None
    assert alone.loss is None
    assert np.isnan(alone.accuracy.error)
    assert summarise([]) == []
    assert "overflow" in markdown([alone])


def test_policies_with_a_tolerance_are_compared_with_one_that_has_none():
    auto = [record("auto", None, seed, 1, 1, 1.0, 0.9 + seed / 20) for seed in (0, 1)]
    _, sdr = summarise([*auto, *RECORDS[4:]])
    # 0.4 − 0.9 and 0.9 − 0.95.
    assert sdr.difference == pytest.approx((-0.275, 0.225))


def test_the_last_round_of_every_run_counts():
    """A run that a stop rule ended has fewer."""
    summaries = summarise(RECORDS[:-1])
    assert [summary.seeds for summary in summaries] == [2, 2]
    assert summaries[1].accuracy.value == pytest.approx((0.4 + 0.2) / 2)


def test_markdown_has_a_row_for_each():
    lines = markdown(summarise(RECORDS)).splitlines()
    assert len(lines) == 4
    assert lines[3] == "| `sdr` | 3 | 0.650 ± 0.250 |  | 1.5 | 1.5 | 2 | 0.700 |"


def test_the_table_fits_80_columns():
    policies = ("perfect", "matching_pursuit:delta=0.4,search=bidirectional", "proportional_fair")
    records = [
        record(policy, None if policy == "perfect" else -10.0, seed, 0, 20, 7212.3, 0.5 + seed / 9)
        for policy in policies
        for seed in range(3)
    ]
    console = Console(width=80, file=StringIO())
    console.print(table(summarise(records)))
    shown = console.file.getvalue()
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert shown.count("0.611 ± 0.064") == 3
    assert shown.count("+0.000 ± 0.000") == 1
    assert "…" not in shown
    assert "proportional_fair" in shown


def test_where_there_is_no_error_there_is_no_number():
    assert markdown(summarise(RECORDS)).splitlines()[2].endswith("| 4.0 | – | 1.000 |")


def test_regression_is_measured_by_r_squared():
    result = compare(Experiment(policies=("perfect",), rounds=1, task="regression"), None)
    assert result.about() == About("K = 20, N = 6, σ² = 1", "R²")
    assert "| R² |" in result.markdown()
    digits = compare(Experiment(policies=("perfect",), rounds=1, samples=100, epochs=1), None)
    assert "| accuracy |" in digits.markdown()


def test_an_experiment_is_resumed_with_the_options_that_began_it():
    values = {
        **{"--task": "regression", "--gamma-db": "3", "--seeds": "4", "--rounds": "7"},
        **{"--coherence": "2", "--devices": "9", "--antennas": "5", "--elements": "8"},
        **{"--taps": "2", "--power": "2", "--noise-variance": "3", "--csi-error": "0.1"},
        **{"--coordination": "mmse", "--label-concentration": "inf", "--samples": "50"},
        **{"--epochs": "3", "--data": "folder", "--policies": "sdr", "--subcarriers": "1"},
        **{"--power-spread-db": "6", "--interference-db": "9", "--interference-azimuth": "30"},
    }
    asked = _parser().parse_args([*(word for pair in values.items() for word in pair), "--polish"])
    begun = _experiment(asked, None, None)
    parser = _parser()
    parser.set_defaults(**_options_of(json.loads(json.dumps(begun.to_json()))))
    assert _experiment(parser.parse_args([]), None, None) == begun
    grown = _experiment(parser.parse_args(["--rounds", "9"]), None, None)
    assert grown == replace(begun, rounds=9)
    other = {"url", "api_key", "output", "resume", "patience", "channels", "polish"}
    assert vars(asked).keys() - other == {name[2:].replace("-", "_") for name in values}


@pytest.mark.parametrize("extra", ["federated", "torch", "flower"])
def test_the_hint_for_a_missing_package_can_be_followed(extra):
    assert_installable(shlex.split(install_hint(extra).partition("pip install ")[2])[0])


def test_differences_are_on_the_same_seeds_and_tolerance():
    more = [
        *RECORDS,
        record("random", 3.0, 0, 1, 1, 1.0, 0.1),
        record("random", 3.0, 1, 1, 1, 1.0, 0.8),
        record("auto", None, 0, 1, 1, 1.0, 0.5),
        record("auto", None, 1, 1, 1, 1.0, 0.9),
    ]
    perfect, sdr, random, auto = summarise(more)
    assert perfect.difference is sdr.difference is None
    # -0.3 and -0.1: they vary less than the accuracies do.
    assert random.difference.value == pytest.approx(-0.2)
    assert random.difference.error == pytest.approx(0.1)
    assert auto.difference.value == pytest.approx(0.05)
    assert auto.difference.error == pytest.approx(0.05)
    assert "| -0.200 ± 0.100 |" in markdown([random])
    # With several tolerances there is no single one to compare auto with.
    more += [record("sdr", 9.0, seed, 1, 1, 1.0, 0.5) for seed in (0, 1)]
    assert [s.difference for s in summarise(more) if s.policy == "auto"] == [None]


def test_pictures_are_drawn(tmp_path):
    assert [file.name for file in draw(RECORDS, tmp_path)] == ["rounds_3db.png"]
    more = [*RECORDS, record("sdr", 9.0, 0, 0, 2, 1.0, 0.1), record("sdr", 9.0, 0, 1, 2, 1.0, 0.3)]
    more += [record("auto", None, 0, number, 3, 1.0, 0.4) for number in (0, 1)]
    names = [file.name for file in draw(more, tmp_path)]
    assert names == ["rounds_3db.png", "rounds_9db.png", "efficiency.png"]
    assert [file.name for file in draw(RECORDS[:4], tmp_path)] == ["rounds.png"]
    for name in [*names, "rounds.png"]:
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_a_picture_says_what_it_shows(tmp_path, monkeypatch):
    figures = []
    monkeypatch.setattr(report, "_save", lambda figure, file: figures.append(figure))
    aged = [replace(each, policy="sdr:priorities=age") for each in RECORDS[4:]]
    loose = [replace(each, gamma_db=9.0) for each in RECORDS[4:]]
    draw([*RECORDS, *aged, *loose], tmp_path, About("K = 4, N = 2, σ² = 1", "R²"))
    tight, _, efficiency = figures
    for figure in figures:
        title = figure.get_suptitle()
        assert title.startswith("K = 4, N = 2, σ² = 1, 2 rounds, mean of 2 seeds")
        assert "γ" not in title
        for axes in figure.axes:
            # Nothing is drawn outside, standard errors included.
            assert axes.viewLim.y1 >= axes.dataLim.y1
            assert axes.viewLim.y0 <= axes.dataLim.y0
    left = tight.axes[0]
    assert left.get_ylabel() == "test R²"
    perfect, sdr, older = left.get_lines()
    assert [line.get_label() for line in (perfect, sdr, older)] == [
        "perfect",
        "sdr, γ = 3 dB",
        "sdr:priorities=age, γ = 3 dB",
    ]
    assert sdr.get_color() == older.get_color() == COLORS["sdr"]
    assert len({line.get_linestyle() for line in (perfect, sdr, older)}) >= 2
    assert sdr._dash_pattern != older._dash_pattern
    assert efficiency.axes[0].get_ylabel() == "over-the-air efficiency ζ"


def test_the_command_reports(service_url, tmp_path, capsys):
    arguments = [
        *("--url", service_url, "--output", str(tmp_path), "--devices", "5", "--antennas", "2"),
        *("--samples", "100", "--rounds", "2", "--epochs", "1", "--policies", "every"),
    ]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    for name in ("perfect", "dual_pursuit", "dc", "optimal", "all_devices"):
        assert name in printed
        assert f"`{name}`" in (tmp_path / "summary.md").read_text()
    # A deprecated name of the same algorithm.
    assert "without exhaustive: it is optimal" in printed
    assert "`exhaustive`" not in (tmp_path / "summary.md").read_text()
    assert (tmp_path / "rounds_10db.png").is_file()


def test_every_leaves_out_what_takes_fewer_devices(service_url, tmp_path, capsys, monkeypatch):
    offered = SchedulerClient.algorithms

    def limited(client):
        return tuple(
            replace(each, max_devices=4) if each.name == "sdr" else each for each in offered(client)
        )

    monkeypatch.setattr(SchedulerClient, "algorithms", limited)
    arguments = ["--url", service_url, "--output", str(tmp_path), "--rounds", "1", "--epochs", "1"]
    assert main([*arguments, "--devices", "5", "--policies", "every"]) == 0
    assert "without sdr: it takes at most 4 devices" in capsys.readouterr().out


def test_tables_and_pictures_have_one_standard_error():
    """That of the mean, with n − 1: 0.4 and 0.9 are 0.25 from their mean on either side."""
    sdr = [each for each in RECORDS if each.policy == "sdr"]
    means, low, high = _by_round(sdr, _accuracy)
    assert means[1] == pytest.approx(0.65)
    assert (high - low)[1] / 2 == pytest.approx(0.25)
    assert summarise(RECORDS)[1].accuracy == pytest.approx((0.65, 0.25))
    assert mean([0.4, 0.9]) == Point(*mean_of([0.4, 0.9]), 2)


def test_one_seed_has_no_error():
    (alone,) = summarise([record("sdr", 3.0, 0, 0, 1, 1.0, 0.5)])
    assert "| 0.500 |" in markdown([alone])


SHARED = ("fedavg", "optimal", "frontier")
"""Never in one picture with perfect or dual pursuit, whose colours they have."""


def test_a_policy_has_one_colour_everywhere():
    for each in (AUTO, PERFECT, DUAL_PURSUIT, BIDIRECTIONAL, SDR_PREFIX):
        assert each.color == color_of(each.name)
    assert color_of("dual_pursuit:priorities=age") == COLORS["dual_pursuit"]
    assert color_of("my_policy") not in COLORS.values()
    drawn = [color for name, color in COLORS.items() if name not in SHARED]
    assert len(set(drawn)) == len(drawn)


def is_alive(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_the_demonstration_can_be_interrupted(tmp_path, how):
    process = subprocess.Popen(
        [sys.executable, "-m", "examples.demo", "--output", str(tmp_path)],
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        give_up = time.monotonic() + 60
        while not list(tmp_path.glob("runs/*.npz")):
            assert time.monotonic() < give_up
            time.sleep(0.02)
        process.send_signal(how)
        assert process.wait(20) == 130
        # The service was in the session that it started: nobody stays there. Its fork server ends
        # by itself, a moment after the service.
        give_up = time.monotonic() + 20
        while is_alive(process.pid):
            assert time.monotonic() < give_up
            time.sleep(0.05)
    finally:
        # If the test failed: the service must not disturb later ones.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
