"""One figure's section of ``RESULTS.md``."""

from airsched_client.federated.report import markdown_rows
from experiments.compare import largest_difference, plus_minus, rounded
from experiments.figure import Figure, Measured, PaperCurves, Point

_MANY_ROWS = 15


def section(
    figure: Figure, measured: Measured, papers: PaperCurves, scale: str, revision: str
) -> str:
    """Return the picture, the remarks and the tables of a figure."""
    words = [figure.sample(measured), measured.setting]
    if smaller := figure.shortfall(measured):
        words.append(f"**smaller than the paper's run**: {smaller}")
    parts = [
        [f"![{figure.title}](results/{figure.name}.png)"],
        [
            f"`{figure.name}`, scale **{figure.scale(scale)}**, {_made_by(revision)}: "
            f"{'; '.join(filter(None, words))}."
        ],
        figure.remarks(measured, papers),
        _differences(figure, measured, papers),
        _paired(figure, measured),
        _folded(["Ours ± standard error / the paper's:", "", *_points(figure, measured, papers)]),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _made_by(revision: str) -> str:
    return f"schedulers `{revision}`" if revision else "schedulers of an earlier revision"


def _differences(figure: Figure, measured: Measured, papers: PaperCurves) -> list[str]:
    """Return where each series is furthest from the paper's."""
    if not papers:
        return []
    kind = "ratio" if figure.log_y else "difference"
    rows = []
    for series, name in figure.series.items():
        if name is None:
            continue
        curve = measured.curves.get(series, {})
        if not curve.keys() & papers[name].keys():
            rows.append([series.title, f"`{name}`", "not run", "", "", ""])
            continue
        found = largest_difference(curve, papers[name], ratio=figure.log_y)
        size = rounded(found.size) if figure.log_y else f"{found.size:.2f}"
        numbers = size, f"{found.x:g}", f"{found.ours:.3g}", f"{found.papers:.3g}"
        rows.append([series.title, f"`{name}`", *numbers])
    columns = ["series", "paper's curve", f"largest {kind}", "at", "ours", "paper's"]
    return markdown_rows(columns, rows)


def _paired(figure: Figure, measured: Measured) -> list[str]:
    """Return the paired differences, a row for each x."""
    if not measured.paired:
        return []
    names = [f"{one.title} − {other.title}" for one, other in measured.paired]
    rows = []
    for x in sorted({x for curve in measured.paired.values() for x in curve}):
        cells = [
            plus_minus(curve[x], sign=True) if x in curve else ""
            for curve in measured.paired.values()
        ]
        rows.append([f"{x:g}", *cells])
    lines = markdown_rows([figure.x_label, *names], rows)
    return _folded([f"Paired differences over the same {figure.unit}:", "", *lines])


def _points(figure: Figure, measured: Measured, papers: PaperCurves) -> list[str]:
    """Return every point, ours / the paper's, a row for each x."""
    curves = measured.curves
    rows = []
    for x in sorted({x for curve in curves.values() for x in curve}):
        cells = [
            _cell(curve.get(x), papers.get(figure.series[series] or "", {}).get(x))
            for series, curve in curves.items()
        ]
        rows.append([f"{x:g}", *cells])
    return markdown_rows([figure.x_label, *(series.title for series in curves)], rows)


def _cell(mine: Point | None, theirs: float | None) -> str:
    if mine is None:
        return ""
    text = plus_minus(mine)
    if mine.band:
        text += f" (in {mine.band[0]:.4g} … {mine.band[1]:.4g})"
    return text if theirs is None else f"{text} / {theirs:.4g}"


def _folded(lines: list[str]) -> list[str]:
    if len(lines) <= _MANY_ROWS:
        return lines
    title, _, *table = lines
    return [f"<details><summary>{title.rstrip(':')}</summary>", "", *table, "", "</details>"]
