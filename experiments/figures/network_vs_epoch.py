"""The accuracy of the paper's network against the epoch; at half its width for fewer epochs."""

from itertools import combinations

from airsched_client.federated.report import markdown_rows
from experiments.compare import plus_minus
from experiments.figure import Figure, Measured, PaperCurves
from experiments.learning_curves import GAMMA_DB, SERIES, measure, orders
from lab import paper
from lab.paper import SHIFT_DB

_SERIES = SERIES["network"]


def remarks(measured: Measured, papers: PaperCurves) -> list[str]:
    """Set some epochs beside the paper's, and say which orders are resolved."""
    theirs = paper.curves("accuracy_vs_epoch")
    reached = {x for curve in measured.curves.values() for x in curve}
    rows = []
    for epoch in sorted(reached & {2.0, 6.0, 12.0, 60.0}):
        cells = [f"{epoch:g}"]
        for each, name in _SERIES.items():
            point = measured.curves[each].get(epoch)
            ours = "" if point is None else plus_minus(point)
            cells.append(ours + ("" if name is None else f" / {theirs[name][epoch]:.1f}"))
        rows.append(cells)
    return [
        "Ours / the paper's, which has the full width. What width and label skew are worth is in "
        "[docs/federated.md](../docs/federated.md#the-papers-task). Accuracy:",
        "",
        *markdown_rows(["epoch", *(each.label for each in _SERIES)], rows),
        "",
        *orders(measured, theirs, _SERIES),
    ]


FIGURE = Figure(
    number=0,
    name="network_vs_epoch",
    title="Accuracy of the network against the epoch",
    x_label=f"epoch (algorithms at γ = {GAMMA_DB:g} + {SHIFT_DB:g} dB)",
    y_label="accuracy [%]",
    size="CIFAR-10; K = 20, N = 6",
    unit="seeds",
    series=_SERIES,
    pairs=tuple(combinations(_SERIES, 2)),
    measure=lambda scale, runner: measure("network", scale, runner, "accuracy", 100.0),
    remarks=remarks,
)
