"""Every public package says what it exports, and exports all that it says."""

import importlib
import inspect

import pytest

PACKAGES = [
    "airsched_client",
    "airsched_client.federated",
    "airsched_client.federated.tasks",
    "airsched_client.federated.traces",
    "airsched_client.flower",
]


@pytest.mark.parametrize("name", PACKAGES)
def test_a_public_package_names_what_it_exports(name):
    if name.endswith("flower"):
        pytest.importorskip("flwr", reason="needs Flower: `make check-flower` runs it")
    package = importlib.import_module(name)
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
        and value.__module__ == name
    }
    assert own <= set(exported)


def test_all_public_names_are_documented():
    for name in PACKAGES[:4]:
        package = importlib.import_module(name)
        for each in package.__all__:
            value = getattr(package, each)
            if inspect.isclass(value) or inspect.isfunction(value):
                assert inspect.getdoc(value), f"{name}.{each}"
