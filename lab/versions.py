"""An earlier version and this one, solving the same problems in turns."""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import mean
from typing import Any

from airsched_client.federated.statistics import mean_of
from app.scheduling import AnyProblem
from lab import solver_worker
from lab.checkouts import checkouts

Solved = tuple[float, dict[str, Any]]
Ask = Callable[..., list[Solved]]
"""(algorithm, problems, options) → processor time and schedule of each.

``vary=True`` goes through all options of a solve, ``parameters`` are those of the algorithm.
"""


@contextmanager
def solvers(revision: str) -> Iterator[dict[str, Ask]]:
    """Yield for each version a function that solves problems in a separate process."""
    with checkouts(revision) as folders, ExitStack() as stack:
        yield {name: stack.enter_context(_solver(folder)) for name, folder in folders.items()}


@contextmanager
def _solver(folder: Path) -> Iterator[Ask]:
    process = subprocess.Popen(
        [sys.executable, Path(solver_worker.__file__)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "OPENBLAS_NUM_THREADS": "1"},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    write, read = process.stdin, process.stdout

    def ask(
        algorithm: str,
        problems: Sequence[AnyProblem],
        vary: bool = False,
        parameters: dict[str, Any] | None = None,
    ) -> list[Solved]:
        request = (algorithm, [_fields(each) for each in problems], vary, parameters or {})
        pickle.dump(request, write)
        write.flush()
        solved: list[Solved] = pickle.load(read)
        return solved

    with process:
        yield ask
        write.close()


def _fields(problem: AnyProblem) -> dict[str, Any]:
    values = {name: getattr(problem, name, None) for name in solver_worker.FIELDS}
    return {name: value for name, value in values.items() if value is not None}


def solve_in_turns(
    ask: Mapping[str, Ask], algorithm: str, problems: Sequence[AnyProblem], turns: int
) -> tuple[dict[str, list[float]], dict[str, list[dict[str, Any]]]]:
    """Return by version the mean seconds of a solve in every turn, and the schedules."""
    for solve in ask.values():
        # Loads the kernels.
        solve(algorithm, problems[:1])
    seconds: dict[str, list[float]] = {name: [] for name in ask}
    schedules: dict[str, list[dict[str, Any]]] = {}
    for _ in range(turns):
        for name, solve in ask.items():
            solved = solve(algorithm, problems)
            seconds[name].append(mean(taken for taken, _ in solved))
            schedules[name] = [schedule for _, schedule in solved]
    return seconds, schedules


def ratio(ones: Sequence[float], others: Sequence[float]) -> str:
    """Return the mean ratio of two series of turns ± its standard error."""
    return mean_of([one / other for one, other in zip(ones, others, strict=True)]).text()
