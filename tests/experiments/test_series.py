"""A series says what it shows: its label names every parameter that is not the default."""

from dataclasses import FrozenInstanceError, dataclass, replace

import pytest

from airsched_client.federated.experiment import Experiment
from app.scheduling import SCHEDULERS, InvalidParameterError, Parameters
from experiments import series as module
from experiments.measurements import count_active
from experiments.selection import call
from experiments.series import DC, MATCHING_PURSUIT, PERFECT, SDR, series


@pytest.mark.parametrize(
    ("made", "label", "name"),
    [
        (MATCHING_PURSUIT, "matching pursuit", "matching_pursuit"),
        (
            series("matching_pursuit", "red", delta=0.55, search="backward"),
            "matching pursuit",
            "matching_pursuit",
        ),
        (
            series("matching_pursuit", "red", delta=0.1),
            "matching pursuit, δ = 0.1",
            "matching_pursuit:delta=0.1",
        ),
        (
            series("matching_pursuit", "red", delta=0.69, search="bidirectional"),
            "matching pursuit, δ = 0.69, search = bidirectional",
            "matching_pursuit:delta=0.69,search=bidirectional",
        ),
        (series("sdr", "red", reading="prefix"), "sdr, reading = prefix", "sdr:reading=prefix"),
        (series("dual_pursuit", "red", starts=4), "dual pursuit, starts = 4", None),
        (PERFECT, "perfect", "perfect"),
    ],
)
def test_the_label_names_what_differs_from_the_default(made, label, name):
    assert made.label == made.title == label
    assert name is None or made.name == name


@pytest.mark.parametrize("algorithm", sorted(SCHEDULERS))
def test_defaults_are_the_services_and_need_no_words(algorithm):
    made = series(algorithm, "red")
    assert made.parameters == SCHEDULERS[algorithm].parameters()
    assert made.label == algorithm.replace("_", " ")


def test_matching_pursuit_alone_means_a_delta_of_055():
    assert MATCHING_PURSUIT.arguments == {"delta": 0.55, "search": "backward"}


def test_a_changed_default_changes_the_label_and_the_call(monkeypatch):
    @dataclass(frozen=True)
    class Changed(Parameters):
        delta: float = 0.3
        search: str = "backward"

    before = call(series("matching_pursuit", "red"), "iid", 0.0, 1)
    scheduler = replace(SCHEDULERS["matching_pursuit"], parameters=Changed)
    monkeypatch.setattr(module, "SCHEDULERS", {"matching_pursuit": scheduler})
    assert series("matching_pursuit", "red", delta=0.55).label == "matching pursuit, δ = 0.55"
    after = call(series("matching_pursuit", "red"), "iid", 0.0, 1)
    assert before["parameters"] == {"delta": 0.55, "search": "backward"}
    assert after["parameters"] == {"delta": 0.3, "search": "backward"}


def test_a_call_without_every_parameter_is_refused():
    complete = call(DC, "iid", 0.0, 1)
    del complete["parameters"]["solver"]
    with pytest.raises(ValueError, match="solver missing"):
        count_active(**complete, seed=0)


def test_a_series_is_one_frozen_value():
    assert {series("sdr", "tab:green", "D"): 1}[SDR] == 1
    assert series("sdr", "red", "D") != SDR
    with pytest.raises(FrozenInstanceError):
        SDR.color = "red"
    with pytest.raises(InvalidParameterError):
        series("matching_pursuit", "red", delta=2.0)


def test_a_setting_is_part_of_the_title():
    there = MATCHING_PURSUIT.at("γ = 5 dB")
    assert (there.label, there.title) == ("matching pursuit", "matching pursuit, γ = 5 dB")
    assert there.name != MATCHING_PURSUIT.name


def test_a_policy_of_the_loop_spells_out_every_parameter():
    policy = series("matching_pursuit", "red", delta=0.1).policy
    assert Experiment.algorithm(policy) == {
        "name": "matching_pursuit",
        "delta": 0.1,
        "search": "backward",
    }
    assert PERFECT.policy == "perfect"
