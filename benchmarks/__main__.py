"""``make bench``: run every benchmark, or those named: ``python -m benchmarks kernels routes``."""

import argparse

from benchmarks import (
    auto,
    client,
    dual_pursuit,
    execution,
    frontier,
    irs,
    irs_search,
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
    "irs_search": irs_search.main,
    "routes": routes.main,
    "execution": execution.main,
    "isolation": isolation.main,
    "overload": overload.main,
    "client": client.main,
    "page": page.main,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}")
    names = parser.parse_args().names or list(BENCHMARKS)
    if unknown := set(names) - set(BENCHMARKS):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    for name in names:
        BENCHMARKS[name]()


if __name__ == "__main__":
    main()
