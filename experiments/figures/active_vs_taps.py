"""Active devices against the number of taps: one set for all subcarriers."""

from experiments.bands import PAIRS, SERIES, measure_bands, panels, remarks
from experiments.figure import Figure, Measured, Scale
from experiments.runner import Runner

TAPS = (1, 2, 4, 8, 16)
SUBCARRIERS = 16


def measure(scale: Scale, runner: Runner) -> Measured:
    """Run all methods on the same bands."""
    return measure_bands(
        runner, FIGURE.name, scale, {float(each): (SUBCARRIERS, each) for each in TAPS}
    )


FIGURE = Figure(
    number=0,
    name="active_vs_taps",
    title="Active devices over a band, by its number of taps: one tap makes it flat",
    x_label="taps",
    y_label="mean number of active devices",
    size=f"K = 20, N = 6, F = {SUBCARRIERS}",
    unit="channels",
    series=SERIES,
    measure=measure,
    remarks=remarks,
    pairs=PAIRS,
    log_x=True,
    panels=panels("taps"),
)
