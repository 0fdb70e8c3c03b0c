"""Finds the schedulers: every module of :mod:`app.scheduling.schedulers` names its own.

So does every module of :mod:`app.scheduling.irs.schedulers`, for problems with a surface. Adding an
algorithm is adding one file there that defines ``SCHEDULERS``; the request schema,
``GET /algorithms``, the OpenAPI file and the common tests follow from it.
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
"""Every scheduler by its name."""

IRS_SCHEDULERS: Mapping[str, Scheduler] = _find(irs_schedulers)
"""Every scheduler that tunes a surface as well, by its name."""


def schedulers_of(problem: Problem | IrsProblem) -> Mapping[str, Scheduler]:
    """Return the schedulers that take problems of this kind."""
    return IRS_SCHEDULERS if isinstance(problem, IrsProblem) else SCHEDULERS
