"""``python -m experiments.studies NAME``: print the tables of a study, or of several."""

import argparse
from importlib import import_module

STUDIES = {
    "selection": "devices served by every algorithm, in the paper's two settings",
    "dual_pursuit": "dual pursuit beside the optimum, for many devices, and from round to round",
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
    "turns": "who is heard in learning: priorities by age beside none",
}
"""Modules of this package; imported when they run, for what some of them need."""


def main() -> None:
    """Run the studies that are named."""
    listed = "\n".join(f"  {name:<13} {summary}" for name, summary in STUDIES.items())
    parser = argparse.ArgumentParser(
        prog="python -m experiments.studies",
        description="Print the tables of studies; each takes minutes and shows its progress.",
        epilog=f"studies:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="+", metavar="NAME", choices=STUDIES, help="of those below")
    for name in parser.parse_args().names:
        import_module(f"experiments.studies.{name}").main()


if __name__ == "__main__":
    main()
