"""Results on disk, and continuing an experiment.

A folder holds ``experiment.json`` (the experiment) and for every run ``runs/NAME.jsonl`` (one line
per round) and ``runs/NAME.npz`` (how many of the lines count, and the global model after the last
of them, with its statistics and receiver). A round is finished once the checkpoint counts it: the
checkpoint is replaced atomically, after the line was written. All randomness follows from seed and
round, so an experiment resumes bit for bit, and more rounds, seeds, policies or tolerances continue
it.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from airsched_client.federated.experiment import Experiment, Record, Run

Real = NDArray[np.floating]

_CAN_GROW = ("policies", "gammas_db", "seeds", "rounds")
"""What may change when an experiment is continued."""


class Model(NamedTuple):
    """A global model, what the devices measured for it, and the receiver it last came through."""

    parameters: Real
    statistics: Real | None = None
    receiver: NDArray[np.complexfloating] | None = None


class RunFiles:
    """The finished rounds of one run, in a folder or, without one, in memory.

    Parameters
    ----------
    folder
        The folder of the experiment; None to keep nothing on disk.
    """

    def __init__(self, folder: Path | None, run: Run) -> None:
        self.records: list[Record] = []
        self.model: Model | None = None
        self._lines = self._checkpoint = None
        if folder is not None:
            self._lines, self._checkpoint = _files(folder, run)
            self._lines.parent.mkdir(parents=True, exist_ok=True)
            self._read(self._lines, self._checkpoint)

    def add(self, record: Record, model: Model) -> None:
        """Keep a finished round and the global model after it."""
        self.records.append(record)
        self.model = model
        if self._lines is None or self._checkpoint is None:
            return
        with self._lines.open("a") as file:
            file.write(_line(record))
        beside = self._checkpoint.with_suffix(".new.npz")
        kept: dict[str, Any] = {"lines": len(self.records), "model": model.parameters}
        for name in ("statistics", "receiver"):
            if getattr(model, name) is not None:
                kept[name] = getattr(model, name)
        np.savez(beside, **kept)
        os.replace(beside, self._checkpoint)

    def _read(self, lines: Path, checkpoint: Path) -> None:
        found: list[str] = []
        if checkpoint.exists():
            with np.load(checkpoint) as content:
                count = int(content["lines"])
                measured, receiver = content.get("statistics"), content.get("receiver")
                self.model = Model(content["model"], measured, receiver)
            found = lines.read_text().splitlines()[:count]
            if len(found) < count:
                raise ValueError(f"{lines} lacks {count - len(found)} finished rounds")
        self.records = [_record(line) for line in found]
        # Lines that the checkpoint does not count belong to unfinished rounds.
        replace_file(lines, "".join(_line(record) for record in self.records).encode())


def prepare(
    folder: Path, experiment: Experiment, *, resume: bool, identity: Mapping[str, Any]
) -> None:
    """Begin an experiment in a folder, or check that it continues the one that is there.

    Parameters
    ----------
    resume
        Continue with what is there. Otherwise the folder must hold no results.
    identity
        What the results depend on besides the experiment: the task, its data and the channels.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "experiment.json"
    requested = {**experiment.to_json(), "identity": dict(identity)}
    if resume and file.exists():
        begun = json.loads(file.read_text())
        different = [
            name
            for name in requested
            if name not in _CAN_GROW and begun.get(name) != requested[name]
        ]
        if "identity" in different:
            before = begun.get("identity", {})
            different.remove("identity")
            different += [
                name for name in identity if before.get(name) != requested["identity"][name]
            ]
        if different:
            raise ValueError(
                f"{folder} was started with another {', '.join(different)}:"
                " resume with the same, or choose another folder"
            )
    elif any((folder / "runs").glob("*.jsonl")):
        raise FileExistsError(
            f"{folder} already holds results: resume them, or choose another folder"
        )
    replace_file(file, (json.dumps(requested, indent=1) + "\n").encode())


def read_experiment(folder: Path) -> dict[str, Any] | None:
    """Return the experiment that began a folder, as JSON values; None if there is none."""
    file = folder / "experiment.json"
    return json.loads(file.read_text()) if file.exists() else None


def read_records(folder: Path | str) -> list[Record]:
    """Return the finished rounds in a folder, in the order of the experiment, for reports."""
    folder = Path(folder)
    files = sorted((folder / "runs").glob("*.jsonl"))
    # A line without an end is still being written.
    whole = [file.read_text().rpartition("\n")[0] for file in files]
    records = [_record(line) for lines in whole for line in lines.splitlines()]
    order = folder / "experiment.json"
    if not order.exists():
        return records
    policies = json.loads(order.read_text())["policies"]
    return sorted(records, key=lambda record: _position(record, policies))


def _position(record: Record, policies: Sequence[str]) -> tuple[Any, ...]:
    place = policies.index(record.policy) if record.policy in policies else len(policies)
    return record.seed, place, record.gamma_db or 0.0, record.round


def _files(folder: Path, run: Run) -> tuple[Path, Path]:
    tolerance = "" if run.gamma_db is None else f"@{run.gamma_db:g}dB"
    name = re.sub(r"[^\w=.,@+-]", "_", f"{run.policy}{tolerance}-seed{run.seed}")
    return folder / "runs" / f"{name}.jsonl", folder / "runs" / f"{name}.npz"


def _line(record: Record) -> str:
    return json.dumps(asdict(record), allow_nan=False) + "\n"


def _record(line: str) -> Record:
    values = json.loads(line)
    return Record(**{**values, "active": tuple(values["active"])})


def replace_file(file: Path, content: bytes) -> None:
    """Write a file in one step, so that it is always complete; several processes may do so."""
    beside = file.with_name(f"{file.name}.{os.getpid()}")
    beside.write_bytes(content)
    os.replace(beside, file)
