"""How far a comparison is, as a bar on the terminal."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from airsched_client.federated.experiment import Experiment, Record

if TYPE_CHECKING:
    from rich.console import Console


@contextmanager
def progress(
    experiment: Experiment, finished: Sequence[Record], console: "Console | None" = None
) -> Iterator[Callable[[Record], None]]:
    """Show a bar, and yield what to call after every round; on a terminal only.

    Parameters
    ----------
    finished
        The rounds of earlier calls.
    console
        The one on standard error if None.
    """
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.table import Column
    except ImportError:
        # The bar is a convenience; without rich there is none.
        yield lambda record: None
        return
    total = len(experiment.runs()) * experiment.rounds
    # In 80 columns, long names of policies are cut, numbers never.
    whole = Column(no_wrap=True, min_width=2 * len(str(total)) + 1)
    columns = (
        TextColumn("{task.description}", table_column=Column(no_wrap=True, max_width=28)),
        BarColumn(bar_width=8),
        MofNCompleteColumn(table_column=whole),
        TextColumn("{task.fields[news]}", table_column=Column(no_wrap=True, min_width=31)),
    )
    shown = console or Console(stderr=True)
    done = Counter(record.run for record in finished if record.round < experiment.rounds)
    with Progress(*columns, console=shown, disable=not shown.is_terminal) as bars:
        bar = bars.add_task("", total=total, completed=done.total(), news="")

        def on_round(record: Record) -> None:
            done[record.run] = record.round + 1
            at = "" if record.gamma_db is None else f" at {record.gamma_db:g} dB"
            error, accuracy = record.measured_error, record.accuracy
            bars.update(
                bar,
                completed=done.total(),
                description=f"{record.policy}{at}, seed {record.seed}",
                news=f"|S| {len(record.active):2d}"
                f"  error {'–' if error is None else f'{error:.2g}'}"
                f"  score {'overflow' if accuracy is None else f'{accuracy:.3f}'}",
            )

        yield on_round
