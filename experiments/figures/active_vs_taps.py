"""Active devices against the number of taps: one set for all subcarriers."""

from experiments.bands import figure

SUBCARRIERS = 16
BANDS = {float(each): (SUBCARRIERS, each) for each in (1, 2, 4, 8, 16)}

FIGURE = figure(
    "active_vs_taps",
    "Active devices over a band, by its number of taps: one tap makes it flat",
    "taps",
    f"F = {SUBCARRIERS}",
    BANDS,
)
