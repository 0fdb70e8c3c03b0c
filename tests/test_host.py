"""The number of cores a process may use, with and without a container's limit."""

import os

import pytest

from app.execution.host import available_cores
from app.settings import Settings


@pytest.fixture(autouse=True)
def _eight_cores(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)


@pytest.mark.parametrize(
    ("limit", "cores"),
    [
        ("max 100000", 8),
        ("100000 100000", 1),
        ("150000 100000", 2),
        ("20000 100000", 1),
        ("1600000 100000", 8),
        ("garbage", 8),
    ],
)
def test_the_limit_of_cgroup_2(tmp_path, limit, cores):
    (tmp_path / "cpu.max").write_text(limit + "\n")
    assert available_cores(tmp_path) == cores


@pytest.mark.parametrize(("quota", "cores"), [("-1", 8), ("250000", 3)])
def test_the_limit_of_cgroup_1(tmp_path, quota, cores):
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu/cpu.cfs_quota_us").write_text(quota)
    (tmp_path / "cpu/cpu.cfs_period_us").write_text("100000")
    assert available_cores(tmp_path) == cores


def test_without_a_container(tmp_path):
    assert available_cores(tmp_path) == 8


def test_affinity_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3}, raising=False)
    assert available_cores(tmp_path) == 1


def test_it_is_the_default_number_of_solver_workers(tmp_path, monkeypatch):
    (tmp_path / "cpu.max").write_text("300000 100000")
    monkeypatch.setattr("app.execution.host.CGROUPS", tmp_path)
    monkeypatch.delenv("AIRSCHED_SOLVER_WORKERS", raising=False)
    assert Settings().solver_workers == 3
