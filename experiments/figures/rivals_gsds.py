"""Greedy spatial device selection on its own ground: N = 16, K = 10, its own objective."""

from experiments.compare import minus, plus_minus
from experiments.figure import Figure, Measured, PaperCurves, Scale
from experiments.rivals import cost_gsds, measured
from experiments.runner import Runner
from experiments.selection import SEED
from experiments.series import policy_series
from lab.rivals.gsds import OBJECTIVE, REFERENCE

_DROPS: dict[Scale, int] = {"quick": 20, "paper": 400}
POWERS_DBM = (-35, -25, -15, -5, 5, 15)
_EQUAL, _UNEVEN = "equal", "uneven"
FRONTIER, GSDS = policy_series("frontier"), policy_series("gsds")
_METHODS = {"frontier": FRONTIER, "gsds": GSDS}
_PAIRS = tuple((GSDS.at(panel), FRONTIER.at(panel)) for panel in (_EQUAL, _UNEVEN))


def measure(scale: Scale, runner: Runner) -> Measured:
    """Run both on the same drops, in turns."""
    points = [(panel, float(x)) for panel in (_EQUAL, _UNEVEN) for x in POWERS_DBM]
    calls = [
        {"power_dbm": x, "uneven": panel == _UNEVEN, "count": _DROPS[scale], "seed": SEED}
        for panel, x in points
    ]
    results = runner.sweep(FIGURE.name, cost_gsds, calls, in_parallel=False)
    setting = "the frontier is compiled, GSDS is NumPy and SciPy: their times compare code as well"
    found = dict(zip(points, results, strict=True))
    return measured(found, _METHODS, _PAIRS, "frontier", setting)


def remarks(measured: Measured, papers: PaperCurves) -> list[str]:
    """Return the paired differences."""
    lines = [
        f"Not in the paper. GSDS is that of {REFERENCE}, written from its abstract and its "
        f"objective, {OBJECTIVE}; `lab/rivals/gsds.py` says what is assumed, the channels among "
        "it. Less is better. Ours is the point of the frontier with the least cost, with the "
        "weights as priorities: the objective counts the weight of the devices that are scheduled. "
        "`experiments.studies frontier_priorities` has the best of all sets, and the frontier "
        "without priorities.",
    ]
    for gsds, frontier in _PAIRS:
        differences = ", ".join(
            f"{plus_minus(point, sign=True)} at {minus(f'{x:g}')} dBm"
            for x, point in sorted(measured.paired[gsds, frontier].items())
        )
        lines.append(f"- {gsds.setting.capitalize()} weights, GSDS minus frontier: {differences}.")
    return lines


FIGURE = Figure(
    number=0,
    name="rivals_gsds",
    title="Learning cost: the frontier and greedy spatial device selection",
    x_label="power P [dBm]",
    y_label="cost (less is better)",
    size="K = 10, N = 16",
    unit="drops",
    series={each.at(panel): None for panel in (_EQUAL, _UNEVEN) for each in _METHODS.values()},
    pairs=_PAIRS,
    measure=measure,
    remarks=remarks,
    log_y=True,
    panels={_EQUAL: "power P [dBm], equal weights", _UNEVEN: "power P [dBm], uneven weights"},
)
