"""``make bench``: run every benchmark, or those named: ``python -m benchmarks kernels routes``."""

import argparse
from importlib import import_module

BENCHMARKS = (
    "kernels",
    "routes",
    "path",
    "execution",
    "isolation",
    "overload",
    "fairness",
    "client",
    "page",
)
"""Modules of this package with a ``main``; imported when they run, for what some of them need."""

COMPARED = {
    "routes": "versions.compare_requests",
    "kernels": "versions.compare_solves",
    "scale": "scale.compare",
    "same": "versions.compare_schedules",
}
"""What ``--before`` calls in this package."""

ONLY_COMPARED = ("scale", "same")
"""Names that need ``--before``."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"of {', '.join(BENCHMARKS)}; or {' or '.join(ONLY_COMPARED)}",
    )
    parser.add_argument(
        "--profile", action="store_true", help="with routes: list where a request's time goes"
    )
    parser.add_argument(
        "--before",
        metavar="REVISION",
        help="with routes or kernels: compare what a request or a solve takes with an earlier "
        "revision, or a folder that holds one; with scale: what dual pursuit serves of many "
        "devices; with same: compare schedules bit for bit",
    )
    asked = parser.parse_args()
    names = asked.names or list(BENCHMARKS)
    if not asked.before and (missing := set(names) & set(ONLY_COMPARED)):
        parser.error(f"{missing.pop()} compares with an earlier revision: --before REVISION")
    if unknown := set(names) - {*BENCHMARKS, *COMPARED}:
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    if asked.profile and names != ["routes"]:
        parser.error("--profile goes with routes alone")
    if asked.before and (len(names) != 1 or names[0] not in COMPARED):
        parser.error(f"--before goes with one of {', '.join(COMPARED)}")
    if asked.profile:
        import_module("benchmarks.routes").profile()
        return
    if asked.before:
        module, function = COMPARED[names[0]].split(".")
        getattr(import_module(f"benchmarks.{module}"), function)(asked.before)
        return
    for name in names:
        import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
