"""Gibbs sampling with a reflecting surface, RIS-FL, on its own ground."""

from experiments.compare import plus_minus
from experiments.figure import Figure, Measured, PaperCurves, Scale
from experiments.rivals import REFINED, TOLERANCES_DB, cost_ris_fl, measured
from experiments.runner import Runner
from experiments.selection import SEED
from experiments.series import policy_series
from lab.rivals.ris_fl import (
    ANTENNAS,
    DEVICES,
    ELEMENTS,
    OBJECTIVE,
    REFERENCE,
    SNR_DB,
    THRESHOLD,
)

_DROPS: dict[Scale, int] = {"quick": 2, "paper": 20}
_REFINED_DROPS: dict[Scale, int] = {"quick": 2, "paper": 5}
"""The first ones of the others; each takes ten times as long."""
SNRS_DB = (80.0, SNR_DB, 100.0)
OURS, GIBBS, CONVERGED = (
    policy_series(name) for name in ("dual_pursuit", "gibbs_sca", "gibbs_sca_refined")
)
_METHODS = {each.algorithm: each for each in (OURS, GIBBS, CONVERGED)}
_PAIRS = ((GIBBS, OURS), (CONVERGED, OURS))


def measure(scale: Scale, runner: Runner) -> Measured:
    """Run all on the same drops, in turns; the refined one at the default only."""
    calls = [{"snr_db": x, "count": _DROPS[scale], "seed": SEED, "refined": False} for x in SNRS_DB]
    calls.append({**calls[SNRS_DB.index(SNR_DB)], "count": _REFINED_DROPS[scale], "refined": True})
    *results, refined = runner.sweep(FIGURE.name, cost_ris_fl, calls, in_parallel=False)
    found = {("", x): result for x, result in zip(SNRS_DB, results, strict=True)}
    found["", SNR_DB] = found["", SNR_DB] | {CONVERGED.algorithm: refined[CONVERGED.algorithm]}
    setting = (
        f"M = {ELEMENTS}, the defaults of the published simulation but for the SNR, {SNR_DB:g} dB "
        f"there; ours is the best of {len(TOLERANCES_DB)} tolerances from {TOLERANCES_DB[0]} to "
        f"{TOLERANCES_DB[-1]} dB, all of which count in its time"
    )
    return measured(found, _METHODS, _PAIRS, OURS.algorithm, setting)


def remarks(measured: Measured, papers: PaperCurves) -> list[str]:
    """Say what is compared, and the paired differences."""
    lines = [
        f"Not in the paper. *gibbs sca* is that of {REFERENCE}, written from the paper and the "
        f"defaults of its published simulation (`lab/rivals/ris_fl.py`). The cost is {OBJECTIVE}; "
        f"less is better. At the default threshold of {THRESHOLD:g} its inner iterations "
        f"stop long before they converge; *refined* has {REFINED:g}.",
    ]
    for pair in _PAIRS:
        for x, point in sorted(measured.paired[pair].items()):
            names = " minus ".join(each.label for each in pair)
            lines.append(f"- {x:g} dB, {names}: {plus_minus(point, sign=True)}.")
    return lines


FIGURE = Figure(
    number=0,
    name="rivals_ris_fl",
    title="Learning cost with a surface: dual pursuit and Gibbs sampling",
    x_label="P/σ² [dB]",
    y_label="cost (less is better)",
    size=f"K = {DEVICES}, N = {ANTENNAS}, M = {ELEMENTS}",
    unit="drops",
    series=dict.fromkeys(_METHODS.values()),
    pairs=_PAIRS,
    measure=measure,
    remarks=remarks,
    log_y=True,
)
