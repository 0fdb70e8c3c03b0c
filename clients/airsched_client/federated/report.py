"""The results: a table, and pictures of accuracy and active devices."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from airsched_client.federated.experiment import AUTO, PERFECT, Record, name_of
from airsched_client.federated.palette import color_of
from airsched_client.federated.statistics import Mean, mean_of
from airsched_client.federated.summary import Summary, summarise

if TYPE_CHECKING:
    from rich.table import Table

Real = NDArray[np.float64]

_NOTHING = "–"
"""Where there is no number."""

_STYLES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)))
"""Lines of the policies that share the colour of their algorithm, in their order."""


@dataclass(frozen=True)
class About:
    """What tables and pictures say of an experiment that its records do not.

    Parameters
    ----------
    setting
        Such as "K = 20, N = 6, σ² = 1".
    accuracy
        What the task calls its accuracy.
    """

    setting: str = ""
    accuracy: str = "accuracy"

    def title(self, rounds: int, seeds: int) -> str:
        """Return the first part of a title."""
        counted = f"{rounds} round{'s'[: rounds != 1]}, mean of {seeds} seed{'s'[: seeds != 1]}"
        return f"{self.setting}, {counted}" if self.setting else counted


_NO_DETAILS = About()


def table(summaries: Sequence[Summary], about: About = _NO_DETAILS) -> "Table":
    """Return the summaries for a terminal of 80 columns; the loss is in the Markdown."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    seeds = max((summary.seeds for summary in summaries), default=0)
    reference = next((s.policy for s in summaries if s.policy != PERFECT), None)
    compared = any(summary.difference is not None for summary in summaries)
    built = Table(
        title=f"final models, {seeds} seed{'s'[: seeds != 1]}",
        caption=f"difference: to {reference} on the same seeds" if compared else None,
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    # Long names of policies are wrapped, numbers never.
    built.add_column("policy", overflow="fold", min_width=10)
    for name in ("γ dB", about.accuracy, "difference", "|S|", "error", "ζ"):
        built.add_column(name, justify="right", no_wrap=True)
    for summary in summaries:
        policy, gamma, accuracy, difference, _, *rest = _cells(summary)
        built.add_row(policy, gamma, accuracy, difference, *rest)
    return built


def markdown(summaries: Sequence[Summary], about: About = _NO_DETAILS) -> str:
    """Return the summaries as a table in Markdown."""
    measured = (about.accuracy, "difference", "test loss", r"mean \|S\|", "error E", "ζ")
    rows = [[f"`{name}`", *rest] for name, *rest in map(_cells, summaries)]
    return "\n".join(markdown_rows(["policy", "γ [dB]", *measured], rows)) + "\n"


def markdown_rows(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table in Markdown."""
    return [
        f"| {' | '.join(columns)} |",
        "|---" * len(columns) + "|",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]


def draw(records: Sequence[Record], folder: Path, about: About = _NO_DETAILS) -> list[Path]:
    """Draw accuracy and |S| by round for every tolerance, and ζ by tolerance if there are several.

    Returns
    -------
    list
        The files: ``rounds_10db.png`` and the like, ``efficiency.png``.
    """
    tolerances = sorted({r.gamma_db for r in records if r.gamma_db is not None})
    each: list[float | None] = [*tolerances] or [None]
    drawn = [
        draw_rounds(
            records,
            gamma_db,
            folder / ("rounds.png" if gamma_db is None else f"rounds_{gamma_db:g}db.png"),
            about=about,
        )
        for gamma_db in each
    ]
    if len(tolerances) > 1:
        drawn.append(_draw_efficiency(summarise(records), folder, _rounds(records), about))
    return drawn


def _cells(summary: Summary) -> list[str]:
    return [
        summary.policy,
        "" if summary.gamma_db is None else f"{summary.gamma_db:g}",
        summary.accuracy.text(),
        "" if summary.difference is None else summary.difference.text(sign=True),
        "overflow" if summary.loss is None else f"{summary.loss:.3g}",
        f"{summary.active:.1f}",
        _NOTHING if summary.error is None else f"{summary.error:.3g}",
        "" if summary.efficiency is None else f"{summary.efficiency.value:.3f}",
    ]


def draw_rounds(
    records: Sequence[Record],
    gamma_db: float | None,
    file: Path,
    x: Literal["round", "channel_uses", "energy"] = "round",
    about: About = _NO_DETAILS,
) -> Path:
    """Draw accuracy and |S| at one tolerance, with the policies that need none.

    Parameters
    ----------
    x
        What accuracy is drawn over: rounds, or channel uses or energy up to a round, the mean over
        the seeds. ``perfect`` has neither of these and is left out.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    chosen = [r for r in records if r.gamma_db in (gamma_db, None)]
    if x != "round":
        chosen = [r for r in chosen if getattr(r, x) is not None]
    if not chosen:
        raise ValueError(f"there is no run with {x} at γ = {gamma_db} dB to draw")
    styles = _styles([record.policy for record in chosen])
    for policy, style in styles.items():
        of_policy = [record for record in chosen if record.policy == policy]
        gamma = "" if of_policy[0].gamma_db is None else f", γ = {gamma_db:g} dB"
        for axes, value in ((left, _accuracy), (right, _active)):
            means, low, high = _by_round(of_policy, value)
            places = np.arange(1.0, means.size + 1)
            if x != "round" and axes is left:
                places = np.cumsum(_by_round(of_policy, lambda r: getattr(r, x))[0])
            color = color_of(policy)
            label = policy.replace("_", " ") + gamma
            # The reference in front, because lines coincide where everyone is active.
            (line,) = axes.plot(
                places, means, ls=style, color=color, label=label, zorder=2 + (policy == PERFECT)
            )
            if policy != PERFECT:
                axes.fill_between(places, low, high, color=line.get_color(), alpha=0.12, lw=0)
    for axes, name in ((left, f"test {about.accuracy}"), (right, "active devices |S|")):
        axes.set(xlabel="round", ylabel=name)
        axes.grid(alpha=0.3)
    if x == "round":
        left.xaxis.get_major_locator().set_params(integer=True)
    else:
        left.set(xlabel=x.replace("_", " "), xscale="log")
    right.xaxis.get_major_locator().set_params(integer=True)
    right.yaxis.get_major_locator().set_params(integer=True)
    right.set_ylim(bottom=0)
    seeds = len({record.seed for record in chosen})
    figure.suptitle(f"{about.title(_rounds(chosen), seeds)}, standard error shaded")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return _save(figure, file)


def _rounds(records: Sequence[Record]) -> int:
    return max((record.round for record in records), default=-1) + 1


def _styles(policies: Sequence[str]) -> dict[str, Any]:
    """Return a line for every policy: dashed for perfect, and different within one colour."""
    of_color: dict[str, Any] = {}
    styles = {}
    for policy in dict.fromkeys(policies):
        more = of_color.setdefault(color_of(policy), cycle(_STYLES))
        styles[policy] = "--" if policy == PERFECT else next(more)
    return styles


def _draw_efficiency(summaries: Sequence[Summary], folder: Path, rounds: int, about: About) -> Path:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    scheduled = [summary for summary in summaries if summary.gamma_db is not None]
    for policy, line in _styles([summary.policy for summary in scheduled]).items():
        points = sorted(
            (s.gamma_db or 0.0, *_quality(s), s.active) for s in scheduled if s.policy == policy
        )
        gammas, efficiencies, errors, active = zip(*points, strict=True)
        label = policy.replace("_", " ")
        style = {"fmt": "o", "ls": line, "color": color_of(policy), "label": label}
        left.errorbar(gammas, efficiencies, errors, capsize=2.5, **style)
        right.errorbar(gammas, active, **style)
    for summary in summaries:
        if name_of(summary.policy) == AUTO:
            color, label = color_of(AUTO), f"{summary.policy}, without γ"
            value, error = _quality(summary)
            left.axhline(value, color=color, ls="--", label=label)
            if np.isfinite(error):
                left.axhspan(value - error, value + error, color=color, alpha=0.15, lw=0)
            right.axhline(summary.active, color=color, ls="--")
    with_reference = all(summary.efficiency is not None for summary in scheduled)
    left.set_ylabel(
        "over-the-air efficiency ζ" if with_reference else f"final test {about.accuracy}"
    )
    right.set_ylabel("mean active devices |S|")
    for axes in (left, right):
        axes.set_xlabel("tolerance γ [dB]")
        axes.grid(alpha=0.3)
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=6)
    seeds = max(summary.seeds for summary in summaries)
    figure.suptitle(f"{about.title(rounds, seeds)} ± one standard error")
    return _save(figure, folder / "efficiency.png")


def _quality(summary: Summary) -> Mean:
    """Return ζ, or the accuracy if there is no reference."""
    return summary.accuracy if summary.efficiency is None else summary.efficiency


def _save(figure: Any, file: Path) -> Path:
    figure.savefig(file, dpi=120)
    return file


def _accuracy(record: Record) -> float:
    return np.nan if record.accuracy is None else record.accuracy


def _active(record: Record) -> float:
    return len(record.active)


def _by_round(
    records: Sequence[Record], value: Callable[[Record], float]
) -> tuple[Real, Real, Real]:
    """Return the mean over the seeds in each round, and the mean ∓ one standard error."""
    rounds = range(max(record.round for record in records) + 1)
    found = [mean_of([value(r) for r in records if r.round == number]) for number in rounds]
    means, errors = np.array(found).T
    return means, means - errors, means + errors
