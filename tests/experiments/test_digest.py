"""A cached result is reused only if its arguments and all code behind it are the same."""

import importlib
import shutil
from dataclasses import replace

import pytest

from experiments.digest import ROOTS, key, source_digest
from experiments.learning import train
from experiments.measurements import count_active
from experiments.selection import call
from experiments.series import MATCHING_PURSUIT
from tests.experiments.test_runner import square

CALL = {**call(MATCHING_PURSUIT, "iid", 0.0, 2), "seed": 1}


@pytest.fixture
def copy(tmp_path):
    """Return a copy of the code, to be changed."""
    ignore = shutil.ignore_patterns("*.nbi", "*.nbc", "*.png", "*.csv", "__pycache__")
    for folder in ("app", "lab", "experiments", "clients/airsched_client"):
        shutil.copytree(ROOTS[0] / folder, tmp_path / folder, ignore=ignore)
    return tmp_path


def keys(folder):
    """Return the keys of two calls with the code in a folder."""
    roots = (folder, folder / "clients")
    source_digest.cache_clear()
    return key(count_active, CALL, roots), key(train, {"seed": 1}, roots)


def change(file, old, new):
    text = file.read_text()
    assert text.count(old) >= 1
    file.write_text(text.replace(old, new, 1))


def test_the_same_code_elsewhere_has_the_same_key(copy):
    assert keys(copy)[0] == key(count_active, CALL)


def test_changed_code_changes_the_key(copy):
    seen = {keys(copy)[0]}
    files = [
        "app/scheduling/kernels/matching/algorithm_1.py",
        "app/scheduling/solver.py",
        # Found by the registry, imported by nobody.
        "app/scheduling/schedulers/dc.py",
        "lab/problems.py",
        "lab/channels.py",
        "clients/airsched_client/federated/channels.py",
        "experiments/measurements.py",
    ]
    for number, file in enumerate(files, start=2):
        with (copy / file).open("a") as text:
            text.write("\nCHANGED = 1\n")
        seen.add(keys(copy)[0])
        assert len(seen) == number, file


def test_a_changed_default_changes_the_key(copy):
    before = keys(copy)
    change(copy / "app/scheduling/schedulers/matching_pursuit.py", "= 0.55", "= 0.56")
    after = keys(copy)
    # Learning asks a service, so nothing that it imports mentions the default.
    assert before[0] != after[0]
    assert before[1] != after[1]


@pytest.mark.parametrize(
    ("name", "value"), [("delta", 0.56), ("search", "forward")], ids=["delta", "search"]
)
def test_resolved_parameters_are_in_the_key(name, value):
    other = replace(MATCHING_PURSUIT.parameters, **{name: value})
    changed = {**call(replace(MATCHING_PURSUIT, parameters=other), "iid", 0.0, 2), "seed": 1}
    assert key(count_active, changed) != key(count_active, CALL)


def test_comments_docstrings_and_pictures_do_not_matter(copy):
    before = keys(copy)
    change(copy / "app/scheduling/solver.py", '"""', '"""Reworded. ')
    with (copy / "app/scheduling/solver.py").open("a") as text:
        text.write("# a comment\n")
    with (copy / "experiments/drawing.py").open("a") as text:
        text.write("\nCHANGED = 1\n")
    assert keys(copy) == before


def test_same_named_functions_of_two_modules_have_different_keys(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    made = []
    for name in ("one_module", "other_module"):
        (tmp_path / f"{name}.py").write_text("def measure(x):\n    return x\n")
        made.append(key(importlib.import_module(name).measure, {"x": 1}, (tmp_path,)))
        # Code that is not ours has no digest: the names alone must tell.
        made.append(key(importlib.import_module(name).measure, {"x": 1}))
    assert len(set(made)) == 4


def test_a_call_is_named_by_its_arguments():
    one = {"number": 1, "log": "there"}
    assert key(square, one) == key(square, dict(reversed(one.items())))
    # A default that is spelt out is the same call.
    assert key(square, {"number": 1}) == key(square, {"number": 1, "log": None})
    others = [{"number": 1}, {**one, "log": "here"}, {**one, "number": 2}]
    assert len({key(square, call) for call in (one, *others)}) == 4
