"""Majorisation–minimisation of Kim et al. on its own ground: iid channels, N = 6, K up to 100."""

from experiments.compare import paired_at, plus_minus
from experiments.figure import Figure, Measured, PaperCurves, Scale
from experiments.rivals import count_kim, measured
from experiments.runner import Runner
from experiments.selection import SEED
from experiments.series import DUAL_PURSUIT, MATCHING_PURSUIT, policy_series
from lab.rivals.kim import REFERENCE

_CHANNELS: dict[Scale, int] = {"quick": 10, "paper": 100}
_TOLERANCE, _DEVICES = "tolerance", "devices"
GAMMAS_DB, DEVICES = tuple(range(-12, 21, 4)), (30, 45, 60, 80, 100)
AT_DEVICES, AT_GAMMA_DB = 60, 4.0
LEVELS_DB = 0.0
"""Where the remarks give the levels."""
SUBGRADIENT, EXACT = policy_series("mm_subgradient"), policy_series("mm_exact")
_METHODS = {each.algorithm: each for each in (DUAL_PURSUIT, SUBGRADIENT, EXACT, MATCHING_PURSUIT)}
_PAIRS = tuple(
    (DUAL_PURSUIT.at(panel), other.at(panel))
    for panel in (_TOLERANCE, _DEVICES)
    for other in (SUBGRADIENT, EXACT)
)


def measure(scale: Scale, runner: Runner) -> Measured:
    """Run all methods on the same channels, in turns."""
    points = {(_TOLERANCE, float(x)): (float(x), AT_DEVICES) for x in GAMMAS_DB}
    points |= {(_DEVICES, float(x)): (AT_GAMMA_DB, x) for x in DEVICES}
    calls = [
        {"gamma_db": gamma_db, "devices": devices, "count": _CHANNELS[scale], "seed": SEED}
        for gamma_db, devices in points.values()
    ]
    results = runner.sweep(FIGURE.name, count_kim, calls, in_parallel=False)
    found = dict(zip(points, results, strict=True))
    setting = "the constants of the two rivals were set on 40 other channels at 0 dB"
    return measured(found, _METHODS, _PAIRS, "dual_pursuit", setting)


def remarks(measured: Measured, papers: PaperCurves) -> list[str]:
    """Return the levels at one tolerance, and the paired differences."""
    levels = ", ".join(
        f"{each.label} {plus_minus(measured.curves[each.at(_TOLERANCE)][LEVELS_DB])}"
        for each in _METHODS.values()
    )
    lines = [
        f"Not in the paper. `mm` is the majorisation–minimisation of {REFERENCE}, written from its "
        "abstract; `lab/rivals/kim.py` says what is assumed. Its inner problems are solved by "
        "projected subgradients, as proposed, or exactly.",
        f"- At {LEVELS_DB:g} dB and K = {AT_DEVICES}: {levels}.",
    ]
    for other in (SUBGRADIENT, EXACT):
        differences = paired_at(
            measured, DUAL_PURSUIT.at(_TOLERANCE), other.at(_TOLERANCE), (-8, -4, 0, 4, 8)
        )
        lines.append(f"- **Dual pursuit** minus {other.label} on the same channels: {differences}.")
    return lines


FIGURE = Figure(
    number=0,
    name="rivals_kim",
    title="Active devices: dual pursuit and majorisation–minimisation",
    x_label="γ [dB] or K",
    y_label="mean number of active devices",
    size=f"N = 6; left: K = {AT_DEVICES}, right: γ = {AT_GAMMA_DB:g} dB",
    unit="channels",
    series={each.at(panel): None for panel in (_TOLERANCE, _DEVICES) for each in _METHODS.values()},
    pairs=_PAIRS,
    measure=measure,
    remarks=remarks,
    panels={_TOLERANCE: "tolerance γ [dB]", _DEVICES: "number of devices K"},
)
