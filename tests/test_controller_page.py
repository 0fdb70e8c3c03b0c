"""The controllers of docs/controller.md receive the sum with the error that the service states."""

import math

import numpy as np
import pytest

from tests.pages import ROOT, URL, blocks

PAGE = ROOT / "docs" / "controller.md"
CODE = [block.text for block in blocks(PAGE) if block.language == "python"]
WEIGHTS, CELL, PLAIN, WITH_CLIENT = CODE


def lines(code: str) -> int:
    return sum(bool(line.strip()) for line in code.splitlines())


@pytest.fixture(scope="module")
def names(service_url):
    found: dict = {}
    for code in CODE:
        exec(code.replace(URL, service_url), found)
    return found


@pytest.mark.parametrize("ratios", ["ratios", "errors"])
def test_the_measured_error_is_the_stated_one(names, ratios):
    """Each |error|² is exponential, so a mean over n of them has the standard error 1/√n."""
    rounds = len(names[ratios])
    assert rounds >= 15
    standard_error = 1 / math.sqrt(rounds * names["model"].size)
    assert np.mean(names[ratios]) == pytest.approx(1, abs=4 * standard_error)


def test_training_reaches_the_common_optimum(names):
    """Every device pulls the model towards one, with errors that average out."""
    start = 1.0
    for model in (names["controller"].model, names["model"]):
        assert np.sqrt(np.mean((model - 1) ** 2)) < start / 2


def test_the_weights_serve_as_many_as_the_page_says(service_url, capsys):
    exec(WEIGHTS.replace(URL, service_url), {})
    counts = [int(line) for line in capsys.readouterr().out.split()]
    assert f"# {counts[0]}, then {counts[1]}, then {counts[2]}" in WEIGHTS


def test_the_controllers_are_as_short_as_they_should_be():
    assert lines(PLAIN) <= 60
    assert lines(WITH_CLIENT) <= 25
