"""``make bench``: run every benchmark, or those named: ``python -m benchmarks kernels routes``."""

import argparse
from importlib import import_module

BENCHMARKS = (
    "kernels",
    "routes",
    "execution",
    "isolation",
    "overload",
    "fairness",
    "client",
    "page",
)
"""Modules of this package with a ``main``; imported when they run, for what some of them need."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}")
    parser.add_argument(
        "--profile", action="store_true", help="with routes: list where a request's time goes"
    )
    parser.add_argument(
        "--before",
        metavar="REVISION",
        help="with routes or kernels: compare what a request or a solve takes with an earlier one",
    )
    asked = parser.parse_args()
    names = asked.names or list(BENCHMARKS)
    if unknown := set(names) - set(BENCHMARKS):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    if asked.profile and names != ["routes"]:
        parser.error("--profile goes with routes alone")
    if asked.before and names not in (["routes"], ["kernels"]):
        parser.error("--before goes with routes alone, or with kernels alone")
    if asked.profile:
        import_module("benchmarks.routes").profile()
        return
    if asked.before:
        versions = "route_versions" if names == ["routes"] else "solver_versions"
        import_module(f"benchmarks.{versions}").compare(asked.before)
        return
    for name in names:
        import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
