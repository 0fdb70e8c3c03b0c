"""Finds the schedulers: every module of :mod:`app.scheduling.schedulers` names its own.

Adding an algorithm is adding one file there that defines ``SCHEDULERS``; the request schema,
``GET /algorithms``, the OpenAPI file and the common tests follow from it.
"""

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType

from app.scheduling import schedulers
from app.scheduling.scheduler import Scheduler


def _find() -> Mapping[str, Scheduler]:
    found: dict[str, Scheduler] = {}
    for module_info in iter_modules(schedulers.__path__, f"{schedulers.__name__}."):
        module = import_module(module_info.name)
        named = getattr(module, "SCHEDULERS", None)
        if not named:
            raise ImportError(f"{module_info.name} must define SCHEDULERS, a tuple of Scheduler")
        for scheduler in named:
            if scheduler.name in found:
                raise ImportError(f"two schedulers are named {scheduler.name!r}")
            found[scheduler.name] = scheduler
    return MappingProxyType(dict(sorted(found.items())))


SCHEDULERS: Mapping[str, Scheduler] = _find()
"""Every scheduler by its name."""
