"""Active devices against the number of subcarriers: one set for all subcarriers."""

from experiments.bands import figure

TAPS = 4
BANDS = {float(each): (each, TAPS) for each in (1, 2, 4, 8, 16, 32, 64)}

FIGURE = figure(
    "active_vs_subcarriers",
    "Active devices over a band, by its number of subcarriers",
    "subcarriers F",
    f"{TAPS} taps",
    BANDS,
)
