"""``python -m experiments``: run the paper's figures, all or those named, and write RESULTS.md."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from rich.console import Console

from experiments import (
    accuracy_vs_epoch,
    active_vs_delta,
    active_vs_gamma_iid,
    active_vs_gamma_network,
    efficiency_vs_gamma,
    report,
    runtime_vs_gamma_iid,
    runtime_vs_size,
    test_loss,
    train_loss,
)
from experiments.figure import Scale
from experiments.learning import MissingDataError
from experiments.runner import BACKENDS, Runner, backend

MODULES = (
    active_vs_delta,
    active_vs_gamma_iid,
    runtime_vs_gamma_iid,
    active_vs_gamma_network,
    runtime_vs_size,
    train_loss,
    test_loss,
    accuracy_vs_epoch,
    efficiency_vs_gamma,
)
FIGURES = {module.__name__.rpartition(".")[2]: module.FIGURE for module in MODULES}
"""In the order of the paper."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = _parser()
    asked = parser.parse_args(arguments)
    if unknown := set(asked.names) - set(FIGURES):
        parser.error(f"no such figure: {', '.join(sorted(unknown))}")
    console = Console(stderr=True)
    runner = Runner(
        asked.cache, jobs=asked.jobs, data=asked.data, fresh=asked.fresh, console=console
    )
    try:
        with backend(asked.backend, asked.address):
            for name in asked.names or FIGURES:
                try:
                    measured = FIGURES[name].measure(asked.scale, runner)
                except MissingDataError as error:
                    if asked.names:
                        raise
                    console.print(f"{name} is left out: {error}", highlight=False)
                    continue
                report.keep(FIGURES[name], measured, asked.scale, asked.output)
                report.write(list(FIGURES.values()), asked.output)
    except (ImportError, OSError, ValueError) as error:
        console.print(f"stopped: {error}", highlight=False)
        return 1
    except KeyboardInterrupt:
        console.print("interrupted; the same command goes on where it was", highlight=False)
        return 130
    console.print(f"wrote {asked.output / 'RESULTS.md'}", highlight=False)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m experiments",
        description=__doc__,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help=f"of {', '.join(FIGURES)}; none for all")
    add("--scale", choices=get_args(Scale), default="quick", help="minutes, or as in the paper")
    add("--backend", choices=BACKENDS, default="loky", help="where sweeps run")
    add("--address", help="of a Dask or Ray cluster; without one they make one of this machine")
    add("--jobs", type=int, default=-1, help="calls at once; -1 for one a core")
    add("--data", type=Path, help="folder that holds cifar-10-batches-py, to learn")
    add("--output", type=Path, default=report.FOLDER, help="folder of the results")
    add("--cache", type=Path, default=Path("build/experiments"), help="folder of what is done")
    add("--fresh", action="store_true", help="run anew what the cache holds")
    return parser


if __name__ == "__main__":
    sys.exit(main())
