"""Active devices against the number of subcarriers: one set for all subcarriers."""

from experiments.bands import PAIRS, SERIES, measure_bands, panels, remarks
from experiments.figure import Figure, Measured, Scale
from experiments.runner import Runner

SUBCARRIERS = (1, 2, 4, 8, 16, 32, 64)
TAPS = 4


def measure(scale: Scale, runner: Runner) -> Measured:
    """Run all methods on the same bands."""
    return measure_bands(
        runner, FIGURE.name, scale, {float(each): (each, TAPS) for each in SUBCARRIERS}
    )


FIGURE = Figure(
    number=0,
    name="active_vs_subcarriers",
    title="Active devices over a band, by its number of subcarriers",
    x_label="subcarriers F",
    y_label="mean number of active devices",
    size=f"K = 20, N = 6, {TAPS} taps",
    unit="channels",
    series=SERIES,
    measure=measure,
    remarks=remarks,
    pairs=PAIRS,
    log_x=True,
    panels=panels("subcarriers F"),
)
