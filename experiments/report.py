"""What is kept of a run, and ``RESULTS.md``, which is written from nothing else."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path

from experiments.compare import largest_difference, rounded
from experiments.drawing import draw
from experiments.figure import Curves, Figure, Measured, Scale, label
from lab import paper

FOLDER = Path(__file__).parent
_MANY_ROWS = 15


def keep(figure: Figure, measured: Measured, scale: Scale, folder: Path = FOLDER) -> None:
    """Write a figure's points, how they were made, and its picture."""
    results = folder / "results"
    results.mkdir(parents=True, exist_ok=True)
    with (results / f"{figure.name}.csv").open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["series", "x", "value"])
        for series, curve in measured.curves.items():
            rows.writerows([series, f"{x:g}", f"{value:.6g}"] for x, value in curve.items())
    runs = _runs(folder)
    runs[figure.name] = {"scale": scale, "setting": measured.setting}
    (results / "runs.json").write_text(
        json.dumps(dict(sorted(runs.items())), indent=1, ensure_ascii=False) + "\n"
    )
    draw(figure, measured.curves, paper.curves(figure.name), results / f"{figure.name}.png")


def write(figures: Sequence[Figure], folder: Path = FOLDER) -> Path:
    """Write ``RESULTS.md`` from what is kept."""
    file, runs = folder / "RESULTS.md", _runs(folder)
    parts = [
        "# The paper's figures, ours beside them\n\n"
        "Written by `python -m experiments` from the points in `results/`; not to be edited. The "
        "paper is A. Bereyhi et al., *Matching Pursuit Based Scheduling for Over-the-Air Federated "
        "Learning* (2022), its points are in `lab/paper/`. In every picture ours is solid and "
        "filled, the paper's dashed and hollow. `make figures` runs all at the `quick` scale, "
        "`.venv/bin/python -m experiments NAME --scale paper` one at the paper's.\n"
    ]
    for figure in figures:
        parts.append(f"\n## {figure.title}\n\n")
        if figure.name not in runs:
            parts.append(f"`{figure.name}` was **not run**.\n")
            continue
        parts.append(_section(figure, runs[figure.name], folder))
    file.write_text("".join(parts))
    return file


def _section(figure: Figure, run: dict[str, str], folder: Path) -> str:
    papers = paper.curves(figure.name)
    ours = paper.read(folder / "results" / f"{figure.name}.csv")
    lines = [
        f"![{figure.title}](results/{figure.name}.png)",
        "",
        f"`{figure.name}`, scale **{run['scale']}**: {run['setting']}.",
        "",
        *figure.remarks(ours, papers),
        "",
        *_differences(figure, ours, papers),
        "",
    ]
    table = _table(figure, ours, papers)
    if len(table) > _MANY_ROWS:
        table = ["<details><summary>every point</summary>", "", *table, "", "</details>"]
    return "\n".join([*lines, *table]) + "\n"


def _differences(figure: Figure, ours: Curves, papers: Curves) -> list[str]:
    """Return where each series is furthest from the paper's."""
    lines = [
        f"| series | largest {'ratio' if figure.log_y else 'difference'} | at | ours | paper's |",
        "|---|---|---|---|---|",
    ]
    for series, curve in papers.items():
        if not set(curve) & set(ours.get(series, {})):
            lines.append(f"| {_name(figure, series)} | not run | | | |")
            continue
        found = largest_difference(ours, {series: curve}, ratio=figure.log_y)
        size = rounded(found.size) if figure.log_y else f"{found.size:.2f}"
        lines.append(
            f"| {_name(figure, series)} | {size} | {found.x:g} | {found.ours:.3g} |"
            f" {found.papers:.3g} |"
        )
    return lines


def _table(figure: Figure, ours: Curves, papers: Curves) -> list[str]:
    """Return every point, ours / the paper's, a row for each x."""
    names = list(dict.fromkeys([*ours, *papers]))
    xs = sorted({x for curve in ours.values() for x in curve})
    x_label = figure.x_label if "" in figure.panels else "size"
    lines = [f"| {x_label} | " + " | ".join(_name(figure, name) for name in names) + " |"]
    lines.append("|---" * (len(names) + 1) + "|")
    for x in xs:
        cells = [_pair(ours.get(name, {}).get(x), papers.get(name, {}).get(x)) for name in names]
        lines.append(f"| {x:g} | " + " | ".join(cells) + " |")
    return ["Ours / the paper's:", "", *lines]


def _pair(mine: float | None, theirs: float | None) -> str:
    if mine is None and theirs is None:
        return ""
    return " / ".join("–" if value is None else f"{value:.4g}" for value in (mine, theirs))


def _name(figure: Figure, series: str) -> str:
    for ending, axis in figure.panels.items():
        if ending and series.endswith(ending):
            return f"{label(series.removesuffix(ending))}, {axis}"
    return label(series)


def _runs(folder: Path) -> dict[str, dict[str, str]]:
    file = folder / "results" / "runs.json"
    found: dict[str, dict[str, str]] = json.loads(file.read_text()) if file.exists() else {}
    return found
