"""Faults and attacks; what checks answers explains what it finds wrong."""

import pytest

pytest.register_assert_rewrite("tests.faults.answers")
