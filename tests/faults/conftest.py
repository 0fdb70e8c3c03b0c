"""A service process of its own for the fault tests: they may harm it."""

import subprocess
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from lab.service import running_command

# `make fuzz` asks for it.
settings.register_profile(
    "thorough", max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck)
)


@pytest.fixture(scope="package")
def running() -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    with running_command(solver_workers=2) as started:
        yield started


@pytest.fixture(scope="package")
def process(running) -> subprocess.Popen[bytes]:
    return running[0]


@pytest.fixture(scope="package")
def address(running) -> str:
    return running[1]
