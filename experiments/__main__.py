"""``python -m experiments``: run the figures, all or those named, and write RESULTS.md."""

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import get_args

from rich.console import Console

from experiments import report
from experiments.figure import Scale
from experiments.figures import FIGURES
from experiments.learning import MissingDataError
from experiments.partial import PartialRunner
from experiments.runner import BACKENDS, Runner, backend, freeze_workers, kill_children


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(FIGURES):
        parser.error(f"no such figure: {', '.join(sorted(unknown))}")
    if options.seeds is not None and options.seeds < 1:
        parser.error("--seeds must be at least 1")
    output = options.output or report.folder_of(options.scale)
    console = Console(stderr=True)
    # As on Ctrl-C: otherwise its services and workers would go on without it.
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        if options.redraw:
            _redraw(options.names, output)
        elif options.take:
            _take(options.names, options.take, output)
        else:
            _run(options, output, console)
    except (ImportError, OSError, ValueError) as error:
        console.print(f"stopped: {error}", highlight=False)
        return 1
    except KeyboardInterrupt:
        kill_children()
        console.print("interrupted; the same command resumes the run", highlight=False)
        return 130
    finally:
        signal.signal(signal.SIGTERM, before)
    console.print(f"wrote {output / 'RESULTS.md'}", highlight=False)
    return 0


def _interrupt(number: int, frame: FrameType | None) -> None:
    freeze_workers()
    raise KeyboardInterrupt


def _run(options: argparse.Namespace, output: Path, console: Console) -> None:
    names = options.names or list(FIGURES)
    for name in names:
        # Before hours of work, not after.
        report.require_no_loss(FIGURES[name], options.scale, output, options.seeds)
    runner = (PartialRunner if options.partial else Runner)(
        options.cache,
        jobs=options.jobs,
        data=options.data,
        seeds=options.seeds,
        fresh=options.fresh,
        console=console,
    )
    try:
        with backend(options.backend, options.address):
            for name in names:
                try:
                    measured = FIGURES[name].measure(options.scale, runner)
                except MissingDataError as error:
                    if options.names:
                        raise
                    console.print(f"{name} is skipped: {error}", highlight=False)
                    continue
                report.keep(FIGURES[name], measured, options.scale, output)
    finally:
        # Once, for all figures; an interrupted run still shows those that it finished.
        report.write(list(FIGURES.values()), output)


def _redraw(names: Sequence[str], output: Path) -> None:
    for figure in report.kept([FIGURES[name] for name in names or FIGURES], output):
        report.redraw(figure, output)
    report.write(list(FIGURES.values()), output)


def _take(names: Sequence[str], folder: Path, output: Path) -> None:
    there = report.kept([FIGURES[name] for name in names or FIGURES], folder)
    if missing := set(names) - {figure.name for figure in there}:
        raise FileNotFoundError(f"{folder} does not hold {', '.join(sorted(missing))}")
    for figure in there:
        report.take(figure, folder, output)
    report.write(list(FIGURES.values()), output)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m experiments",
        description=__doc__,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help=f"of {', '.join(FIGURES)}; all if none is given")
    add("--scale", choices=get_args(Scale), default="quick", help="minutes, or as in the paper")
    add("--backend", choices=BACKENDS, default="loky", help="where sweeps run")
    add("--address", help="of a Dask or Ray cluster; without one, a cluster on this machine")
    add("--jobs", type=int, default=-1, help="calls at once; -1 for one per core")
    add("--data", type=Path, help="folder that holds cifar-10-batches-py, for learning")
    add("--seeds", type=int, help="at most so many seeds of the figures that learn")
    add(
        "--output",
        type=Path,
        help=f"folder of the results; {report.QUICK} for quick runs, else experiments",
    )
    add("--cache", type=Path, default=Path("build/experiments"), help="folder of finished points")
    add("--fresh", action="store_true", help="ignore the cache")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument(
        "--redraw", action="store_true", help="run nothing; redraw from the points in --output"
    )
    instead.add_argument(
        "--partial",
        action="store_true",
        help="run nothing; show the epochs that all runs of the same command have finished",
    )
    instead.add_argument(
        "--import",
        dest="take",
        type=Path,
        metavar="FOLDER",
        help="run nothing; take over the results in the --output of another run",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
