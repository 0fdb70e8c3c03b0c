"""Cells: what knowing the interference is worth in devices, and few devices at many antennas.

The first table has iid channels with P/σ² = 1 and K = 20, N = 6, and interferers of 10 dB above the
noise at every antenna. *Aware* sends the covariance. *Unaware* knows only the mean noise variance;
counted are the devices that its receiver serves in truth. *Claimed* is what it believes to serve. ±
is the standard error over the channels.

The second table has the time of one solve with and without the change to fewer dimensions.

The third is for requests that say nothing of a cell: the time from a parsed body to its schedule,
over the same without the fields and the code of cells, in turns; ± is over twenty batches. The
schedules must be the same bit for bit; otherwise the study stops.
"""

import time
from typing import Any

import numpy as np
from pydantic import create_model
from rich.console import Console
from rich.progress import track
from rich.table import Table

from airsched_client.federated.statistics import mean_difference, mean_of
from app.api.cells import Positive
from app.api.requests import ScheduleRequest
from app.scheduling import (
    AnyProblem,
    Context,
    Problem,
    Schedule,
    SolveSpec,
    solve,
    solve_specified,
)
from app.scheduling.cells.cell import state
from app.scheduling.plain import PLAIN
from app.scheduling.types import ComplexArray
from app.warmup import warm_up
from lab.channels import iid_channels

CHANNELS = 200
SEED = 2700
STRENGTH = 10.0
"""Power of an interferer over the noise, on average over the antennas."""

MAX_ERRORS = (0.5, 1.0, 2.0)

GAMMA = 0.5
"""Tolerance of requests without a cell."""


def main() -> None:
    """Print the three tables."""
    warm_up()
    table = Table(title=f"dual pursuit, K = 20, N = 6, {CHANNELS} channels")
    for name in ("interferers", "ε", "aware", "unaware", "aware - unaware", "claimed"):
        table.add_column(name, justify="right")
    for interferers in (1, 2):
        for max_error in MAX_ERRORS:
            table.add_row(str(interferers), f"{max_error:g}", *_row(interferers, max_error))
    Console(width=100).print(table)
    _few_devices()
    _plain_requests()


def _row(interferers: int, max_error: float) -> list[str]:
    rng = np.random.default_rng(SEED + interferers)
    aware, unaware, claimed = [], [], []
    for seed in track(range(CHANNELS), f"{interferers} interferers", transient=True):
        channels = iid_channels(rng, 6, 20)
        columns = np.sqrt(STRENGTH) * iid_channels(rng, 6, interferers)
        noise = np.eye(6) + columns @ columns.conj().T
        mean = float(np.trace(noise).real / 6)
        problem = Problem(channels, np.ones(20), max_error / mean, noise_variance=mean)
        known = solve(state(problem, noise_covariance=noise), "dual_pursuit", seed=seed)
        guessed = solve(problem, "dual_pursuit", seed=seed)
        aware.append(float(known.active.size))
        claimed.append(float(guessed.active.size))
        served = 0
        if guessed.receiver is not None:
            served = _truly_served(problem, noise, guessed.receiver, max_error)
        unaware.append(float(served))
    return [
        mean_of(aware).text(2),
        mean_of(unaware).text(2),
        mean_difference(aware, unaware).text(2, sign=True),
        mean_of(claimed).text(2),
    ]


def _truly_served(
    problem: Problem, noise: ComplexArray, receiver: ComplexArray, max_error: float
) -> int:
    """Return how many devices have φ_k² cᴴRc ≤ ε P |h_kᴴc|²."""
    through = np.vdot(receiver, noise @ receiver).real
    gains = np.abs(receiver.conj() @ problem.channels) ** 2
    return int(np.count_nonzero(through <= max_error * gains))


def _few_devices() -> None:
    table = Table(title="milliseconds of one solve: all antennas, and the span of the channels")
    for name in ("K / N", "algorithm", "all", "span", "span / all"):
        table.add_column(name, justify="right")
    rng = np.random.default_rng(SEED)
    for devices, antennas in ((3, 256), (20, 64)):
        channels = iid_channels(rng, antennas, devices)
        problem = Problem(channels, np.ones(devices), 1.5 / antennas)
        for algorithm in ("matching_pursuit", "dual_pursuit"):
            full, small = [], []
            # In turns, so that both meet the same machine.
            for _ in range(20):
                full.append(_seconds(problem, algorithm))
                small.append(_seconds(problem, algorithm, reduced=True))
            ratio = np.median(small) / np.median(full)
            cells = (f"{1e3 * np.median(each):.3f}" for each in (full, small))
            table.add_row(f"{devices} / {antennas}", algorithm, *cells, f"{ratio:.3f}")
    Console(width=100).print(table)


def _seconds(problem: Problem, algorithm: str, *, reduced: bool = False) -> float:
    began = time.perf_counter()
    stated: AnyProblem = state(problem) if reduced else problem
    solve(stated, algorithm)
    return time.perf_counter() - began


BATCHES, SOLVES = 20, 100

_OF_CELLS = ("noise_covariance", "excluded", "required", "previous")
_FIELDS: dict[str, Any] = {
    name: ((Positive, 1.0) if name == "power" else (field.annotation, field))
    for name, field in ScheduleRequest.model_fields.items()
    if name not in _OF_CELLS
}
_Plain: Any = create_model("_Plain", __config__=ScheduleRequest.model_config, **_FIELDS)
"""A request for a schedule as it would be without cells."""


def _plain_requests() -> None:
    table = Table(title="requests without a cell: their time over that without the code for cells")
    for name in ("K / N", "algorithm", "µs", "ratio"):
        table.add_column(name, justify="right")
    rng = np.random.default_rng(SEED)
    for devices, antennas in ((20, 6), (100, 16)):
        channels = iid_channels(rng, antennas, devices)
        nested = {"real": channels.real.tolist(), "imag": channels.imag.tolist()}
        for algorithm in ("matching_pursuit", "dual_pursuit"):
            body = {"channels": nested, "gamma": GAMMA, "algorithm": algorithm}
            ratios, medians = [], []
            for _ in track(range(BATCHES), algorithm, transient=True):
                as_is, without = _in_turns(body)
                ratios.append(as_is / without)
                medians.append(as_is)
            shown = f"{1e6 * np.median(medians):.0f}"
            table.add_row(f"{devices} / {antennas}", algorithm, shown, mean_of(ratios).text(3))
    Console(width=100).print(table)


def _in_turns(body: dict[str, Any]) -> tuple[float, float]:
    """Return the median seconds of a request as it is, and without the code for cells."""
    seconds: list[tuple[float, float]] = []
    for number in range(SOLVES):
        taken, found = {}, {}
        for way in (_as_is, _without) if number % 2 else (_without, _as_is):
            began = time.perf_counter()
            found[way] = way(body)
            taken[way] = time.perf_counter() - began
        _require_same(found[_as_is], found[_without])
        seconds.append((taken[_as_is], taken[_without]))
    as_is, without = np.median(seconds, axis=0)
    return float(as_is), float(without)


def _as_is(body: dict[str, Any]) -> Schedule:
    request = ScheduleRequest.model_validate(body)
    power, noise = request.reference_power, request.reference_noise
    problem = Problem(request.channels, np.ones(request.devices), GAMMA, power, noise)
    stated = request.cell(problem, request.device_ids)
    return solve_specified(stated, _specification(request))


def _without(body: dict[str, Any]) -> Schedule:
    request: Any = _Plain.model_validate(body)
    devices = int(request.channels.shape[1])
    power, noise = request.power, request.noise_variance
    problem = Problem(request.channels, np.ones(devices), GAMMA, power, noise)
    spec = _specification(request)
    context = Context(spec.seed, np.zeros(1, np.bool_), spec.warm_start)
    selection = spec.scheduler.select(problem, spec.parameters, context)
    return PLAIN.answer(problem, selection, spec, context.stop)


def _specification(request: Any) -> SolveSpec:
    algorithm = request.algorithm
    return SolveSpec(algorithm.scheduler, algorithm.parameters, request.seed, request.warm_start)


def _require_same(one: Schedule, other: Schedule) -> None:
    """End if two schedules differ in a single bit."""
    for mine, its in zip(one, other, strict=True):
        same = mine == its
        if isinstance(mine, np.ndarray) and isinstance(its, np.ndarray):
            same = mine.tobytes() == its.tobytes()
        if not same:
            raise SystemExit(f"the schedules differ: {mine} and {its}")
