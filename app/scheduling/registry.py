"""The kinds of problems, and the schedulers that the modules of their packages define.

To add an algorithm, add one file that defines ``SCHEDULERS`` to the package of its kind; the
request schema, ``GET /algorithms``, the OpenAPI file and the common tests pick it up.
"""

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType, ModuleType

from app.scheduling.any_problem import AnyProblem
from app.scheduling.irs.kind import SURFACE
from app.scheduling.kind import Kind
from app.scheduling.plain import PLAIN
from app.scheduling.scheduler import Scheduler
from app.scheduling.wideband.kind import BAND


def _find(package: ModuleType) -> Mapping[str, Scheduler]:
    found: dict[str, Scheduler] = {}
    for module_info in iter_modules(package.__path__, f"{package.__name__}."):
        module = import_module(module_info.name)
        named = getattr(module, "SCHEDULERS", None)
        if not named:
            raise ImportError(f"{module_info.name} must define SCHEDULERS, a tuple of Scheduler")
        for scheduler in named:
            if scheduler.name in found:
                raise ImportError(f"two schedulers are named {scheduler.name!r}")
            found[scheduler.name] = scheduler
    return MappingProxyType(dict(sorted(found.items())))


KINDS: Mapping[type[AnyProblem], Kind] = MappingProxyType(
    {kind.problem: kind for kind in (PLAIN, SURFACE, BAND)}
)
"""Every kind of problem, by the class of its standard problems."""

_SCHEDULERS = {kind: _find(import_module(kind.schedulers)) for kind in KINDS.values()}

SCHEDULERS = _SCHEDULERS[PLAIN]
"""Every scheduler of plain problems, by name."""

IRS_SCHEDULERS = _SCHEDULERS[SURFACE]
"""Every scheduler for problems with a surface, by name."""

WIDEBAND_SCHEDULERS = _SCHEDULERS[BAND]
"""Every scheduler for problems over a band, by name."""


def schedulers_of(problem: AnyProblem) -> Mapping[str, Scheduler]:
    """Return the schedulers for problems of this kind."""
    return _SCHEDULERS[KINDS[type(problem.standard)]]


def kind_with(scheduler: Scheduler) -> Kind:
    """Return the kind whose problems ``scheduler`` solves; plain if it is not registered."""
    kinds = (kind for kind in KINDS.values() if _SCHEDULERS[kind].get(scheduler.name) is scheduler)
    return next(kinds, PLAIN)
