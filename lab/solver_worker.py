"""Solves problems with the code in its folder, for :mod:`lab.versions`.

It reads pickled ``(algorithm, problems, vary, parameters)`` from its input, each problem as its
fields, and writes ``(seconds of processor time, schedule)`` of each. It uses only what every
version has.
"""

import pickle
import sys
import time
from typing import Any

from app.scheduling import IrsProblem, Problem, schedulers_of, solve

FIELDS = (
    "channels",
    "direct",
    "irs_to_server",
    "devices_to_irs",
    "weights",
    "gamma",
    "power",
    "noise_variance",
    "priorities",
    "phase_bits",
)
"""Of a problem, as far as it has them."""

ANSWER = (
    "active",
    "receiver",
    "power_factor",
    "computation_error",
    "transmit_scalars",
    "phases",
    "feasible",
    "stopped",
)
"""Of a schedule."""


def main() -> None:
    """Answer until the input ends."""
    while True:
        try:
            algorithm, stated, vary, given = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        solved = [
            _solve(algorithm, each, index if vary else None, given)
            for index, each in enumerate(stated)
        ]
        pickle.dump(solved, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def _solve(
    algorithm: str, fields: dict[str, Any], index: int | None, given: dict[str, Any]
) -> tuple[float, dict[str, Any]]:
    problem = (IrsProblem if "direct" in fields else Problem)(**fields)
    scheduler = schedulers_of(problem)[algorithm]
    parameters, options = scheduler.parameters(**given), dict[str, Any]()
    if index is not None:
        variants = list(scheduler.variants())
        parameters = variants[index % len(variants)]
        options = {
            "polish": index % 4 >= 2,
            "coordination": ("zero_forcing", "mmse")[index // 4 % 2],
        }
    begun = time.thread_time()
    try:
        schedule = solve(problem, algorithm, parameters, **options)
    except Exception as error:
        return time.thread_time() - begun, {"error": repr(error)}
    return time.thread_time() - begun, {name: getattr(schedule, name) for name in ANSWER}


if __name__ == "__main__":
    main()
