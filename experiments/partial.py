"""Learning curves while they are being learnt: the epochs that all runs have finished so far."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from airsched_client.federated.checkpoint import read_records
from airsched_client.federated.experiment import Record
from experiments.digest import key
from experiments.learning import epochs
from experiments.runner import Runner


class PartialRunner(Runner):
    """Runs nothing; returns what the checkpoints hold of the runs of another :class:`Runner`."""

    def sweep(
        self,
        title: str,
        function: Callable[..., Any],
        calls: Sequence[dict[str, Any]],
        *,
        in_parallel: bool = True,
        **elsewhere: Any,
    ) -> list[Any]:
        """Return the epochs of every run, as many as all have."""
        if "checkpoints" not in elsewhere:
            raise ValueError("--partial is for figures that learn")
        folders = [Path(elsewhere["checkpoints"]) / key(function, call) for call in calls]
        found = [_by_run(folder) for folder in folders]
        begun = max(len(runs) for runs in found)
        if any(len(runs) < begun for runs in found) or not begun:
            raise ValueError(
                f"{title}: not every run has finished an epoch; wait, or ask for fewer --seeds"
            )
        least = min(len(records) for runs in found for records in runs)
        return [
            [
                {
                    "policy": records[0].policy,
                    "gamma_db": records[0].gamma_db,
                    **epochs(records[:least]),
                }
                for records in runs
            ]
            for runs in found
        ]


def _by_run(folder: Path) -> list[list[Record]]:
    runs: dict[tuple[Any, ...], list[Record]] = {}
    if folder.exists():
        for record in read_records(folder):
            runs.setdefault(record.run, []).append(record)
    return list(runs.values())
