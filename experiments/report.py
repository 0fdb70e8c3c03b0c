"""What is kept of a run, and ``RESULTS.md``, which is written from nothing else."""

import csv
import json
from collections.abc import Sequence
from math import isfinite, nan
from pathlib import Path
from typing import cast

from experiments import verdicts
from experiments.digest import revision
from experiments.drawing import draw
from experiments.figure import Curve, Figure, Measured, PaperCurves, Point, Scale, points_of
from experiments.results_page import section
from lab import paper

COMMITTED = Path(__file__).parent
"""Where the results at the paper's scale are."""
QUICK = Path("build/figures")
_MINUS = " - "
_COLUMNS = ("series", "x", "value", "standard_error", "count", "low", "high")

INTRODUCTION = (
    "# The paper's figures and ours\n\n"
    "Written by `python -m experiments` from the points in `results/`; do not edit. **The paper** "
    f"is {paper.REFERENCE}; its points are in `lab/paper/`.\n\n"
    "## What was reproduced\n\n"
    f"{verdicts.RULE}\n"
)
HOW_TO_READ = (
    "\n## How to read the figures\n\n"
    "In every picture our curves are solid and filled, the paper's dashed and hollow. A series is "
    "named by its algorithm and every parameter that differs from the service's default. **± is "
    "one standard error** of the mean or median over the channels, networks or seeds of a point; a "
    "paired difference is the mean over them of the difference on the same one. *Schedulers* is a "
    "digest of the code that made the points; `.venv/bin/python -m experiments.digest` prints "
    "today's. `make figures` runs all figures at the `quick` scale into `build/figures`, "
    "`.venv/bin/python -m experiments NAME --scale paper` one at the paper's.\n"
)


class SmallerScaleError(ValueError):
    """A run would replace results of a larger one."""


def folder_of(scale: Scale) -> Path:
    """Return where results of a scale go, unless told otherwise."""
    return COMMITTED if scale == "paper" else QUICK


def require_no_loss(figure: Figure, scale: Scale, folder: Path, seeds: int | None = None) -> None:
    """Raise :class:`SmallerScaleError` if a run would replace a larger one.

    Parameters
    ----------
    seeds
        How many seeds the run has; None for all.
    """
    kept = _runs(folder).get(figure.name, {}).get("scale")
    if seeds is not None and kept == scale and figure.unit == "seeds":
        before = min(point.count for point in points_of(read(figure, folder)))
        if seeds < before:
            raise SmallerScaleError(
                f"{folder} holds {figure.name} with {before} seeds, which a run with {seeds} must "
                "not replace: choose another --output"
            )
    if scale == "quick" and kept == "paper":
        raise SmallerScaleError(
            f"{folder} holds {figure.name} at the paper's scale, which a quick run must not "
            "replace: choose another --output"
        )


def keep(
    figure: Figure, measured: Measured, scale: Scale, folder: Path, made_by: str | None = None
) -> None:
    """Write a figure's points, how they were made, and its picture.

    Parameters
    ----------
    made_by
        Revision of the schedulers that made them; this one if None.
    """
    require_no_loss(figure, scale, folder)
    results = folder / "results"
    results.mkdir(parents=True, exist_ok=True)
    named = {series.name: curve for series, curve in measured.curves.items()}
    named |= {
        f"{one.name}{_MINUS}{other.name}": curve for (one, other), curve in measured.paired.items()
    }
    with (results / f"{figure.name}.csv").open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(_COLUMNS)
        for name, curve in named.items():
            rows.writerows([name, f"{x:g}", *_cells(point)] for x, point in curve.items())
    runs = _runs(folder)
    runs[figure.name] = {
        "scale": scale,
        "setting": measured.setting,
        "smaller": measured.smaller,
        "schedulers": revision() if made_by is None else made_by,
    }
    (results / "runs.json").write_text(
        json.dumps(dict(sorted(runs.items())), indent=1, ensure_ascii=False) + "\n"
    )
    redraw(figure, folder)


def take(figure: Figure, source: Path, folder: Path) -> None:
    """Keep in a folder what another one holds of a figure."""
    run = _runs(source)[figure.name]
    scale = cast(Scale, run["scale"])
    keep(figure, read(figure, source), scale, folder, run.get("schedulers", ""))


def redraw(figure: Figure, folder: Path) -> None:
    """Draw a figure from what is kept of it."""
    measured = read(figure, folder)
    draw(figure, measured, papers_of(figure), folder / "results" / f"{figure.name}.png")


def read(figure: Figure, folder: Path) -> Measured:
    """Return what is kept of a figure."""
    named: dict[str, Curve] = {}
    file = folder / "results" / f"{figure.name}.csv"
    with file.open(newline="") as text:
        for row in csv.DictReader(text):
            named.setdefault(row["series"], {})[float(row["x"])] = _point(row)
    series = {each.name: each for each in figure.series}
    if unknown := {part for name in named for part in name.split(_MINUS)} - series.keys():
        raise ValueError(f"{file} has series that the figure has not: {', '.join(sorted(unknown))}")
    run = _runs(folder)[figure.name]
    return Measured(
        {series[name]: curve for name, curve in named.items() if name in series},
        run["setting"],
        run["smaller"],
        {
            (series[one], series[other]): curve
            for name, curve in named.items()
            for one, minus, other in [name.partition(_MINUS)]
            if minus
        },
    )


def papers_of(figure: Figure) -> PaperCurves:
    """Return the paper's curves, none for a figure of our own."""
    return paper.curves(figure.name) if figure.number else {}


def kept(figures: Sequence[Figure], folder: Path) -> list[Figure]:
    """Return the figures that a folder holds."""
    runs = _runs(folder)
    return [figure for figure in figures if figure.name in runs]


def write(figures: Sequence[Figure], folder: Path) -> Path:
    """Write ``RESULTS.md`` from what is kept."""
    folder.mkdir(parents=True, exist_ok=True)
    file, runs = folder / "RESULTS.md", _runs(folder)
    parts, rows, ours = [], [], []
    for figure in figures:
        parts.append(f"\n## {figure.title}\n\n")
        if figure.name not in runs:
            parts.append(f"`{figure.name}` was **not run**.\n")
            rows += [verdicts.not_run(figure)] if figure.number else []
            continue
        run, measured, papers = runs[figure.name], read(figure, folder), papers_of(figure)
        parts.append(section(figure, measured, papers, run["scale"], run.get("schedulers", "")))
        if figure.number:
            rows.append(verdicts.row(figure, measured, papers))
        else:
            ours.append(verdicts.link(figure))
    table = [verdicts.HEAD, *rows] if rows else []
    beyond = [f"\nNot in the paper: {'; '.join(ours)}."] if ours else []
    file.write_text("\n".join([INTRODUCTION, *table, *beyond, HOW_TO_READ]) + "".join(parts))
    return file


def _cells(point: Point) -> list[str]:
    error = f"{point.error:.3g}" if isfinite(point.error) else ""
    low, high = (f"{limit:.6g}" for limit in point.band) if point.band else ("", "")
    return [f"{point.value:.6g}", error, str(point.count), low, high]


def _point(row: dict[str, str]) -> Point:
    return Point(
        float(row["value"]),
        float(row["standard_error"] or nan),
        int(row["count"]),
        (float(row["low"]), float(row["high"])) if row["low"] else None,
    )


def _runs(folder: Path) -> dict[str, dict[str, str]]:
    file = folder / "results" / "runs.json"
    found: dict[str, dict[str, str]] = json.loads(file.read_text()) if file.exists() else {}
    return found
