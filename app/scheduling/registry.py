"""Collects the schedulers that the modules of :mod:`app.scheduling.schedulers` define.

Those for problems with a surface are in :mod:`app.scheduling.irs.schedulers`. To add an algorithm,
add one file that defines ``SCHEDULERS``; the request schema, ``GET /algorithms``, the OpenAPI file
and the common tests pick it up.
"""

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType, ModuleType

from app.scheduling import schedulers
from app.scheduling.irs import schedulers as irs_schedulers
from app.scheduling.irs.problem import IrsProblem
from app.scheduling.problem import Problem
from app.scheduling.scheduler import Scheduler


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


SCHEDULERS: Mapping[str, Scheduler] = _find(schedulers)
"""Every scheduler, by name."""

IRS_SCHEDULERS: Mapping[str, Scheduler] = _find(irs_schedulers)
"""Every scheduler for problems with a surface, by name."""


def schedulers_of(problem: Problem | IrsProblem) -> Mapping[str, Scheduler]:
    """Return the schedulers for problems of this kind."""
    return IRS_SCHEDULERS if isinstance(problem, IrsProblem) else SCHEDULERS
