"""The README's picture: the service's algorithms with their defaults, on both channel models."""

from experiments.compare import paired_at
from experiments.figure import Figure, Measured, PaperCurves, Scale
from experiments.runner import Runner
from experiments.selection import Counts, call, count_of, mean_active
from experiments.series import DC, DUAL_PURSUIT, MATCHING_PURSUIT, SDR
from lab.problems import ChannelModel

_CHANNELS: Counts = {"quick": {None: 500, DC: 100}, "paper": {None: 2000}}
_ALGORITHMS = (DUAL_PURSUIT, DC, SDR, MATCHING_PURSUIT)
_GAMMAS_DB: dict[ChannelModel, tuple[int, ...]] = {
    "iid": (-10, -7, -4, -1, 2, 5, 8, 11, 14),
    "network": (-4, 1, 6, 11, 16, 21, 26, 31),
}
_SERIES = {each.at(model): None for model in _GAMMAS_DB for each in _ALGORITHMS}


def measure(scale: Scale, runner: Runner) -> Measured:
    """Run every algorithm; most points are those of the paper's figures, in the cache."""
    points = {
        (each.at(model), float(gamma_db)): call(
            each, model, float(gamma_db), count_of(_CHANNELS, scale, each)
        )
        for model, gammas_db in _GAMMAS_DB.items()
        for gamma_db in gammas_db
        for each in _ALGORITHMS
    }
    return mean_active(runner, FIGURE.name, points, FIGURE.pairs)


def remarks(measured: Measured, papers: PaperCurves) -> list[str]:
    """Return the differences of dual pursuit to the others."""
    return [
        "All algorithms see the same channels: iid ones, and the paper's network with weights of "
        "mean one. Here γ is ours on both.",
        *(
            f"- On {'iid channels' if model == 'iid' else 'the network'}, dual pursuit minus "
            f"{other.label}: "
            f"{paired_at(measured, DUAL_PURSUIT.at(model), other.at(model), _GAMMAS_DB[model])}."
            for model in _GAMMAS_DB
            for other in (DC, MATCHING_PURSUIT)
        ),
    ]


FIGURE = Figure(
    number=0,
    name="overview",
    title="Active devices against the tolerance, with the service's default parameters",
    x_label="tolerance γ [dB]",
    y_label="mean number of active devices",
    size="K = 20, N = 6",
    unit="channels",
    series=_SERIES,
    pairs=tuple(
        (DUAL_PURSUIT.at(model), other.at(model))
        for model in _GAMMAS_DB
        for other in (DC, SDR, MATCHING_PURSUIT)
    ),
    measure=measure,
    remarks=remarks,
    panels={
        "iid": "tolerance γ [dB], iid channels",
        "network": "tolerance γ [dB], the paper's network",
    },
)
