"""Results on disk, and resuming an interrupted experiment.

A folder holds ``experiment.json`` (the experiment), ``results.jsonl`` (one line per round) and
``checkpoint.npz`` (how many of the lines count, and the global model after the last of them). A
round is finished once the checkpoint counts it: the checkpoint is replaced atomically, after the
line was written. All randomness follows from seed and round, so an experiment resumes bit for bit.
"""

import json
import os
from dataclasses import asdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from airsched_client.federated.experiment import Experiment, Record, Run

Real = NDArray[np.float64]


class Results:
    """The records of an experiment in a folder.

    Parameters
    ----------
    folder
        Created if it does not exist.
    experiment
        Must be the one that the folder was started with.
    resume
        Continue with what is there. Otherwise the folder must hold no results.
    """

    def __init__(self, folder: Path, experiment: Experiment, *, resume: bool = False) -> None:
        self.folder = folder
        self.records: list[Record] = []
        self._model: Real | None = None
        folder.mkdir(parents=True, exist_ok=True)
        if resume:
            self._read(experiment)
        elif self._lines_file.exists():
            raise FileExistsError(
                f"{folder} already holds results: resume them, or choose another folder"
            )
        self._experiment_file.write_text(json.dumps(experiment.to_json(), indent=1) + "\n")
        # Lines that the checkpoint does not count belong to unfinished rounds.
        lines = "".join(_line(record) for record in self.records)
        _replace(self._lines_file, lines.encode())

    def of(self, run: Run) -> list[Record]:
        """Return the finished rounds of a run."""
        return [record for record in self.records if record.run == run]

    def model(self) -> Real:
        """Return the global model after the last finished round."""
        if self._model is None:
            raise ValueError("there is no finished round yet")
        return self._model

    def add(self, record: Record, model: Real) -> None:
        """Save a finished round and the global model after it."""
        with self._lines_file.open("a") as file:
            file.write(_line(record))
        self.records.append(record)
        self._model = model
        beside = self._checkpoint_file.with_suffix(".new.npz")
        np.savez(beside, lines=len(self.records), model=model)
        os.replace(beside, self._checkpoint_file)

    def _read(self, experiment: Experiment) -> None:
        if not self._experiment_file.exists():
            return
        begun, asked = json.loads(self._experiment_file.read_text()), experiment.to_json()
        different = [name for name in asked if begun.get(name) != asked[name]]
        if different:
            raise ValueError(
                f"{self.folder} was started with other {', '.join(different)}:"
                " resume with the same, or choose another folder"
            )
        if not self._checkpoint_file.exists():
            return
        with np.load(self._checkpoint_file) as checkpoint:
            count, self._model = int(checkpoint["lines"]), checkpoint["model"]
        lines = self._lines_file.read_text().splitlines()[:count]
        if len(lines) < count:
            raise ValueError(f"{self._lines_file} lacks {count - len(lines)} finished rounds")
        self.records = [_record(line) for line in lines]

    @property
    def _experiment_file(self) -> Path:
        return self.folder / "experiment.json"

    @property
    def _lines_file(self) -> Path:
        return self.folder / "results.jsonl"

    @property
    def _checkpoint_file(self) -> Path:
        return self.folder / "checkpoint.npz"


def read_records(folder: Path) -> list[Record]:
    """Return the records of a folder, for reports."""
    return [_record(line) for line in (folder / "results.jsonl").read_text().splitlines()]


def _line(record: Record) -> str:
    return json.dumps(asdict(record), allow_nan=False) + "\n"


def _record(line: str) -> Record:
    values = json.loads(line)
    return Record(**{**values, "active": tuple(values["active"])})


def _replace(file: Path, content: bytes) -> None:
    beside = file.with_name(file.name + ".new")
    beside.write_bytes(content)
    os.replace(beside, file)
