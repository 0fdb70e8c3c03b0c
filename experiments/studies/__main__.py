"""``python -m experiments.studies NAME``: print the tables of a study, or of several."""

import argparse
from importlib import import_module

STUDIES = {
    "selection": "devices served by every algorithm, in the paper's two settings",
    "dual_pursuit": "dual pursuit beside the optimum, for many devices, and from round to round",
    "scale": "dual pursuit for many devices, beside an earlier revision: needs --before",
    "gap": "dual pursuit for 200 to 1000 devices, beside long runs, a rival and a bound",
    "slow_channels": "channels that change slowly: what sending the last receiver is worth",
    "hard_structure": "low rank, clusters, near and far, narrow angles: share of the best",
    "optimal": "the proven optimum and bounds: how often they are proven, and how fast",
    "frontier": "the trade-off of devices and error, beside dual pursuit at each tolerance",
    "priorities": "value of the devices served, with priorities",
    "frontier_scale": "the frontier for many devices, beside dual pursuit at its points",
    "frontier_priorities": "the frontier with priorities, beside the best over all sets",
    "csi_error": "devices that wrong estimates allow, beside a rule that broke the tolerance",
    "cells": "what knowing the interference is worth; few devices at many antennas",
    "irs": "algorithms that tune a reflecting surface",
    "irs_search": "the joint search with a surface beside one that only adds devices",
    "wideband": "one set of devices over a band: beside the optimum, and for wider bands",
    "wideband_learning": "learning over a band: one set of devices, beside one per subcarrier",
    "auto": "learning with the tolerance that the service chooses, beside every fixed one",
    "priorities_learning": "learning with priorities by age or weight, beside none",
}
"""Modules of this package; imported when they run, for what some of them need."""

COMPARED = {"scale"}
"""Those that compare with an earlier revision."""


def main() -> None:
    """Run the studies that are named."""
    width = max(map(len, STUDIES))
    listed = "\n".join(f"  {name:<{width}} {summary}" for name, summary in STUDIES.items())
    parser = argparse.ArgumentParser(
        prog="python -m experiments.studies",
        description="Print the tables of studies; each takes minutes and shows its progress.",
        epilog=f"studies:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="+", metavar="NAME", choices=STUDIES, help="of those below")
    parser.add_argument(
        "--before",
        metavar="REVISION",
        help="with scale: the earlier revision, or a folder that holds one",
    )
    options = parser.parse_args()
    if options.before is None and (missing := COMPARED & set(options.names)):
        parser.error(f"{missing.pop()} compares with an earlier revision: --before REVISION")
    if options.before is not None and not COMPARED.issuperset(options.names):
        parser.error(f"--before goes with {', '.join(COMPARED)}")
    for name in options.names:
        study = import_module(f"experiments.studies.{name}").main
        study(options.before) if name in COMPARED else study()


if __name__ == "__main__":
    main()
