"""Every module has a layer in `pyproject.toml`, in the contract of the package nearest to it."""

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LAYERS = [
    (container, f"{container}.{name}".lstrip("."))
    for contract in PYPROJECT["tool"]["importlinter"]["contracts"]
    if contract["type"] == "layers"
    for container in contract.get("containers", [""])
    for layer in contract["layers"]
    for name in layer.replace("|", " ").split()
]
"""(package, what stands in a layer of it: a module, or a package with all that it holds)."""
PACKAGES = {package for package, _ in LAYERS} | {"app"}
PLACED = {name for _, name in LAYERS} - {"app"}


def lineage(file, root):
    """Return the names of a module and of the packages around it, the module first."""
    parts = file.relative_to(root).with_suffix("").parts
    return [".".join(parts[:length]) for length in range(len(parts), 0, -1)]


@pytest.mark.parametrize(
    ("root", "package"), [(ROOT, "app"), (ROOT / "clients", "airsched_client")]
)
def test_every_module_has_a_layer(root, package):
    modules = [each for each in (root / package).rglob("*.py") if each.name != "__init__.py"]
    assert modules
    for name, *around in (lineage(each, root) for each in modules):
        depth = next(i for i, each in enumerate(around) if each in PACKAGES)
        assert PLACED & {name, *around[:depth]}, f"{name} is in no layer"
