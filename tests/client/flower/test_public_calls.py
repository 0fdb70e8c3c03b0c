"""The wrapper uses what Flower documents, and nothing else of it."""

import ast

from tests.pages import ROOT

PUBLIC = {"flwr", "flwr.app", "flwr.clientapp", "flwr.serverapp", "flwr.serverapp.strategy"}
SOURCES = sorted((ROOT / "clients" / "airsched_client" / "flower").glob("*.py"))


def test_only_public_modules_and_names_of_flower():
    found = set()
    for source in SOURCES:
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.Import):
                found |= {(alias.name, "") for alias in node.names if alias.name[:4] == "flwr"}
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("flwr"):
                found |= {(node.module, alias.name) for alias in node.names}
            elif isinstance(node, ast.Attribute) and node.attr.startswith("_"):
                # Of its own objects alone.
                assert node.attr.startswith("__") or isinstance(node.value, ast.Name)
                assert node.attr.startswith("__") or node.value.id == "self", node.attr
    assert {module for module, _ in found} == PUBLIC
    assert not any(name.startswith("_") for _, name in found)
