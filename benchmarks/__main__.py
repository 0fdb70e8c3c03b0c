"""``make bench``: run every benchmark, or those named: ``python -m benchmarks kernels routes``."""

import argparse

from benchmarks import (
    auto,
    client,
    dual_pursuit,
    execution,
    fairness,
    frontier,
    irs,
    isolation,
    kernels,
    optimal,
    overload,
    page,
    priorities,
    routes,
    selection,
)

BENCHMARKS = {
    "kernels": kernels.main,
    "selection": selection.main,
    "dual_pursuit": dual_pursuit.main,
    "frontier": frontier.main,
    "priorities": priorities.main,
    "auto": auto.main,
    "optimal": optimal.main,
    "irs": irs.main,
    "routes": routes.main,
    "execution": execution.main,
    "isolation": isolation.main,
    "overload": overload.main,
    "fairness": fairness.main,
    "client": client.main,
    "page": page.main,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}")
    parser.add_argument(
        "--profile", action="store_true", help="with routes: list where a request's time goes"
    )
    asked = parser.parse_args()
    names = asked.names or list(BENCHMARKS)
    if unknown := set(names) - set(BENCHMARKS):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    if asked.profile:
        if names != ["routes"]:
            parser.error("--profile goes with routes alone")
        routes.profile()
        return
    for name in names:
        BENCHMARKS[name]()


if __name__ == "__main__":
    main()
