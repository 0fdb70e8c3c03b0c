"""Bounds of parameters: a value exactly at one is taken or refused, as the annotation says."""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
from annotated_types import Ge, Gt, Interval, Le, Lt

from app.scheduling import InvalidParameterError
from app.scheduling.scheduler import Parameters


@dataclass(frozen=True)
class Bounded(Parameters):
    inside: Annotated[float, Interval(gt=0, lt=1)] = 0.5
    within: Annotated[int, Interval(ge=2, le=4)] = 3
    above: Annotated[float, Gt(1)] = 2.0
    below: Annotated[float, Lt(1)] = 0.0
    at_least: Annotated[float, Ge(1)] = 2.0
    at_most: Annotated[float, Le(1)] = 0.0
    choice: Literal["one", "two"] = "one"


@pytest.mark.parametrize(
    ("name", "taken", "refused"),
    [
        ("inside", [1e-300, 1 - 1e-16], [0, 1, -1, 2, math.nan]),
        ("within", [2, 3, 4], [1, 5]),
        ("above", [1 + 1e-15], [1, 0, math.nan]),
        ("below", [1 - 1e-15], [1, 2, math.nan]),
        ("at_least", [1, math.inf], [1 - 1e-15, math.nan]),
        ("at_most", [1, -math.inf], [1 + 1e-15, math.nan]),
        ("choice", ["one", "two"], ["three", ""]),
    ],
)
def test_bounds_are_exact(name, taken, refused):
    for value in taken:
        assert getattr(Bounded(**{name: value}), name) == value
    for value in refused:
        with pytest.raises(InvalidParameterError, match=f"^{name} must be"):
            Bounded(**{name: value})
