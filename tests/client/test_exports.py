"""Every public package says what it exports, and exports all that it says."""

import importlib
import inspect
from pathlib import Path

import pytest

import airsched_client

CLIENT = Path(airsched_client.__file__).parent
PACKAGES = ["app.scheduling"] + [
    ".".join(file.parent.relative_to(CLIENT.parent).parts)
    for file in sorted(CLIENT.rglob("__init__.py"))
]


@pytest.fixture(params=PACKAGES)
def package(request):
    if request.param.startswith("airsched_client.flower"):
        pytest.importorskip("flwr", reason="needs Flower: `make check-flower` runs it")
    return importlib.import_module(request.param)


def test_the_packages_are_found():
    assert {"airsched_client", "airsched_client.federated.tasks"} < set(PACKAGES)


def test_a_public_package_names_what_it_exports(package):
    exported = package.__all__
    assert len(set(exported)) == len(exported)
    for each in exported:
        assert getattr(package, each) is not None
        assert each == "__version__" or not each.startswith("_")
    own = {
        each
        for each, value in vars(package).items()
        if not each.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__ == package.__name__
    }
    assert own <= set(exported)


def test_all_public_names_are_documented(package):
    for each in package.__all__:
        value = getattr(package, each)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), f"{package.__name__}.{each}"


@pytest.mark.parametrize("name", ["airsched_client", "airsched_client.federated"])
def test_the_rule_that_public_signatures_name_is_exported(name):
    package = importlib.import_module(name)
    assert {"Patience", "RetryRule"} <= set(package.__all__)
