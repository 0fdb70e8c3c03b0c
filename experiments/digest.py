"""What a result depends on: a digest of the code that computes it, and the key of a call."""

import ast
import hashlib
import inspect
import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[1]
ROOTS = (_ROOT, _ROOT / "clients")
"""Folders of our packages."""
_ALWAYS = "app.scheduling"
"""Every number comes from a scheduler, in this process or through a service."""


def key(function: Callable[..., Any], call: dict[str, Any], roots: tuple[Path, ...] = ROOTS) -> str:
    """Return the name of a call: its function, and a digest of its arguments and its code.

    Arguments left out count with their defaults.
    """
    bound = inspect.signature(function).bind_partial(**call)
    bound.apply_defaults()
    module = function.__module__
    parts = [module, function.__qualname__, bound.arguments, source_digest(module, roots)]
    text = json.dumps(parts, sort_keys=True)
    return f"{function.__name__}-{hashlib.sha256(text.encode()).hexdigest()[:20]}"


def revision() -> str:
    """Return a short digest of the schedulers, by which a reader can tell whether they changed."""
    return source_digest(_ALWAYS)[:12]


@cache
def source_digest(module: str, roots: tuple[Path, ...] = ROOTS) -> str:
    """Return a digest of a module, of all of ours that it imports, and of the schedulers."""
    digest = hashlib.sha256()
    for name, code in sorted(_sources(module, roots).items()):
        digest.update(f"{name}\n{code}\n".encode())
    return digest.hexdigest()


def _sources(module: str, roots: tuple[Path, ...]) -> dict[str, str]:
    """Return the code of a module and of all of ours that it imports, directly or not.

    A package that is imported counts with all its modules: it may import them when it runs.
    """
    found: dict[str, str] = {}
    left = [module, _ALWAYS]
    while left:
        for name, file in _files(left.pop(), roots):
            if name not in found:
                found[name], imported = _parse(file.read_text())
                left += [inner if any(_files(inner, roots)) else outer for outer, inner in imported]
    return found


def _files(module: str, roots: tuple[Path, ...]) -> Iterator[tuple[str, Path]]:
    """Yield the name and file of a module, or of all modules of a package; none if not ours."""
    for root in roots:
        path = root.joinpath(*module.split("."))
        files = path.rglob("*.py") if path.is_dir() else [path.with_suffix(".py")]
        for file in files:
            if file.exists():
                yield str(file.relative_to(root)), file


@cache
def _parse(text: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the code without comments and docstrings, which change no result, and its imports.

    An import is a module and a name in it, which may be a module too.
    """
    tree = ast.parse(text)
    imported = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported += [(alias.name, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported += [(node.module, f"{node.module}.{alias.name}") for alias in node.names]
        elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [part for part in node.body if not _is_docstring(part)]
    return ast.dump(tree), tuple(imported)


def _is_docstring(part: ast.stmt) -> bool:
    return isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)


if __name__ == "__main__":
    print(revision())
