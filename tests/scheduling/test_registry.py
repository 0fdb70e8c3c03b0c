import sys

import pytest

from app.scheduling import InvalidParameterError, registry, schedulers
from app.scheduling.schedulers.matching_pursuit import MatchingPursuitParameters


def test_every_file_is_found():
    assert {"all_devices", "matching_pursuit"} <= set(registry.SCHEDULERS)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("", "must define SCHEDULERS"),
        (
            "from app.scheduling.schedulers.all_devices import SCHEDULERS",
            "two schedulers are named 'all_devices'",
        ),
    ],
)
def test_a_missing_or_double_name_fails_at_import(tmp_path, monkeypatch, source, says):
    (tmp_path / "zz_extra.py").write_text(source)
    monkeypatch.setattr(schedulers, "__path__", [*schedulers.__path__, str(tmp_path)])
    try:
        with pytest.raises(ImportError, match=says):
            registry._find(schedulers)
    finally:
        sys.modules.pop("app.scheduling.schedulers.zz_extra", None)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"delta": 0.0}, "delta must be above 0"),
        ({"delta": 1.0}, "delta must be below 1"),
        ({"delta": float("nan")}, "delta"),
        ({"search": "sideways"}, "search must be one of backward, forward, bidirectional"),
    ],
)
def test_parameters_keep_their_bounds(arguments, says):
    with pytest.raises(InvalidParameterError, match=says):
        MatchingPursuitParameters(**arguments)
