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
    "routes": "compare_requests",
    "kernels": "compare_solves",
    "same": "compare_schedules",
}
"""What ``--before`` calls in :mod:`benchmarks.versions`."""

ONLY_COMPARED = "same"
"""The name that needs ``--before``."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"of {', '.join(BENCHMARKS)}; or {ONLY_COMPARED}",
    )
    parser.add_argument(
        "--profile", action="store_true", help="with routes: list where a request's time goes"
    )
    parser.add_argument(
        "--before",
        metavar="REVISION",
        help="with routes or kernels: compare what a request or a solve takes with an earlier "
        "revision, or a folder that holds one; with same: compare schedules bit for bit",
    )
    options = parser.parse_args()
    names = options.names or list(BENCHMARKS)
    if not options.before and ONLY_COMPARED in names:
        parser.error(f"{ONLY_COMPARED} compares with an earlier revision: --before REVISION")
    if unknown := set(names) - {*BENCHMARKS, *COMPARED}:
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    if options.profile and names != ["routes"]:
        parser.error("--profile goes with routes alone")
    if options.before and (len(names) != 1 or names[0] not in COMPARED):
        parser.error(f"--before goes with one of {', '.join(COMPARED)}")
    if options.profile:
        import_module("benchmarks.routes").profile()
        return
    if options.before:
        getattr(import_module("benchmarks.versions"), COMPARED[names[0]])(options.before)
        return
    for name in names:
        import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
