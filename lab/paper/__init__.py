"""The points of the paper's curves, figure by figure.

Source: :data:`REFERENCE`. Each ``NAME.csv`` here holds one figure as ``series, x, value``, the
second column named for what its x axis shows.
"""

import csv
from pathlib import Path

REFERENCE = (
    "A. Bereyhi, A. Vagollari, S. Asaad, R. R. Müller, W. Gerstacker and H. V. Poor, *Matching "
    "Pursuit Based Scheduling for Over-the-Air Federated Learning*, 2022, "
    "[arXiv:2206.06679](https://arxiv.org/abs/2206.06679)"
)
"""The paper, as Markdown."""
SHIFT_DB = 6.0
"""Added to the paper's γ to get ours, on its network.

The paper does not give the scale of φ, and γ has a meaning only relative to it: weights twice as
large need 6 dB more. Ours are L_k/mean(L); the shift was fitted to the paper's matching pursuit.
"""


def curves(name: str) -> dict[str, dict[float, float]]:
    """Return every curve of the figure ``name``: series → x → value."""
    found: dict[str, dict[float, float]] = {}
    with (Path(__file__).parent / f"{name}.csv").open(newline="") as file:
        rows = csv.reader(file)
        next(rows)
        for series, x, value in rows:
            found.setdefault(series, {})[float(x)] = float(value)
    return found
