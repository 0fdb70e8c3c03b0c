"""The figures: one module each, named as its figure, that defines ``FIGURE``.

New modules are found automatically.
"""

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules

from experiments.figure import Figure


def _find() -> Mapping[str, Figure]:
    found: list[Figure] = []
    for info in iter_modules(__path__):
        figure = getattr(import_module(f"{__name__}.{info.name}"), "FIGURE", None)
        if not isinstance(figure, Figure) or figure.name != info.name:
            raise ImportError(f"{__name__}.{info.name} must define FIGURE, named {info.name!r}")
        found.append(figure)
    return {figure.name: figure for figure in _in_order(found)}


def _in_order(found: list[Figure]) -> list[Figure]:
    return sorted(found, key=lambda figure: (figure.number == 0, figure.number))


FIGURES = _find()
"""Every figure by name, in the order of the paper; then ours."""
