"""Calls that run a rival and ours on the same channels, one after the other, and time both.

A call returns, for each of its methods, one value and one time per channel. The methods take turns
on every channel, so that what else the machine does meets all of them alike; only the process's own
time counts.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from app.scheduling import IRS_SCHEDULERS, SCHEDULERS, Problem, SolveSpec, find_frontier, solve
from experiments.figure import Curves, Measured, Pair, Point
from experiments.series import Series
from experiments.summary import mean, paired
from lab.problems import iid_problems
from lab.rivals import gsds, kim, ris_fl
from lab.rivals.learning_cost import best_of_frontier, cost

Results = dict[str, dict[str, list[float]]]
"""Method → ``values`` and ``seconds``, one per channel."""
LARGEST_TOLERANCE = 1e9
"""Of a frontier on the ground of GSDS: more error than any of its points has."""
TOLERANCES_DB = tuple(range(-10, 42, 2))
"""Tried for the best cost with a surface, where no frontier exists."""
REFINED = 1e-4
"""A threshold of RIS-FL's inner iterations at which they converge."""


def count_kim(gamma_db: float, devices: int, count: int, seed: int) -> Results:
    """Return the devices served by the methods of Kim et al. and by ours, iid channels, N = 6."""
    return _in_turns(
        iid_problems(count, 6, devices, gamma_db, seed),
        {
            "dual_pursuit": lambda problem: solve_count(problem, "dual_pursuit"),
            "mm_subgradient": kim.served,
            "mm_exact": lambda problem: kim.served(problem, "exact"),
            "matching_pursuit": lambda problem: solve_count(problem, "matching_pursuit"),
        },
    )


def solve_count(problem: Problem, algorithm: str) -> int:
    """Return |S| with the default parameters."""
    return int(solve(problem, algorithm, SCHEDULERS[algorithm].parameters()).active.size)


def cost_gsds(power_dbm: float, uneven: bool, count: int, seed: int) -> Results:
    """Return the cost of GSDS and that of the best point of the frontier.

    The objective counts the weight of the devices that are scheduled: it is their priority.
    """
    scheduler = SCHEDULERS["dual_pursuit"]
    spec = SolveSpec(scheduler, scheduler.parameters())
    rng = np.random.default_rng(seed)
    return _in_turns(
        [gsds.drop(rng, power_dbm, uneven) for _ in range(count)],
        {
            "frontier": lambda drop: best_of_frontier(
                find_frontier(
                    Problem(drop[0], drop[1], LARGEST_TOLERANCE, priorities=drop[1]), spec
                ),
                drop[1],
            ),
            "gsds": lambda drop: gsds.select(*drop).cost,
        },
    )


def cost_ris_fl(snr_db: float, count: int, seed: int, refined: bool) -> Results:
    """Return the cost of RIS-FL and the best of dual pursuit at some tolerances.

    Parameters
    ----------
    refined
        Also RIS-FL with inner iterations that converge, which take ten times as long.
    """
    rng = np.random.default_rng(seed)
    methods: dict[str, Callable[[Any], float]] = {
        "dual_pursuit": _best_of_tolerances,
        "gibbs_sca": lambda problem: ris_fl.select(problem, rng).cost,
    }
    if refined:
        methods["gibbs_sca_refined"] = lambda problem: (
            ris_fl.select(problem, rng, threshold=REFINED).cost
        )
    return _in_turns([ris_fl.drop(rng, snr_db) for _ in range(count)], methods)


def _best_of_tolerances(problem: Any) -> float:
    parameters = IRS_SCHEDULERS["dual_pursuit"].parameters()
    costs = []
    for gamma_db in TOLERANCES_DB:
        schedule = solve(replace(problem, gamma=10 ** (gamma_db / 10)), "dual_pursuit", parameters)
        if schedule.computation_error is not None:
            costs.append(cost(problem.weights, schedule.active, schedule.computation_error, 1.0))
    return min(costs, default=np.inf)


def _in_turns(given: Sequence[Any], methods: Mapping[str, Callable[[Any], float]]) -> Results:
    found: Results = {name: {"values": [], "seconds": []} for name in methods}
    with threadpool_limits(1):
        for method in methods.values():
            # Load whatever the first use loads.
            method(given[0])
        for problem in given:
            for name, method in methods.items():
                started = time.process_time()
                value = method(problem)
                found[name]["seconds"].append(time.process_time() - started)
                found[name]["values"].append(float(value))
    return found


def measured(
    results: Mapping[tuple[str, float], Results],
    series: Mapping[str, Series],
    pairs: Sequence[Pair],
    reference: str,
    setting: str,
) -> Measured:
    """Return means, paired differences, and times as multiples of a reference's.

    Parameters
    ----------
    results
        (setting, x) → what a call returned.
    series
        Method → its series; its setting is added.
    reference
        The method that the others' times are divided by.
    """
    samples: dict[Series, dict[float, list[float]]] = {}
    ratios: dict[str, list[float]] = {}
    for (where, x), found in results.items():
        for name, of in found.items():
            samples.setdefault(series[name].at(where), {})[x] = of["values"]
            ours = found[reference]["seconds"][: len(of["seconds"])]
            ratios.setdefault(name, []).extend(np.log(np.array(of["seconds"]) / np.array(ours)))
    curves: Curves = {
        each: {x: mean(values) for x, values in by_x.items()} for each, by_x in samples.items()
    }
    times = ", ".join(
        f"{series[name].label} {_ratio(mean(logs))}"
        for name, logs in ratios.items()
        if name != reference
    )
    words = f"processor time as a multiple of {series[reference].label}'s, in the same run: {times}"
    return Measured(curves, "; ".join([setting, words]), paired=paired(samples, pairs))


def _ratio(logs: Point) -> str:
    """Return the geometric mean of ratios ± its standard error."""
    ratio = float(np.exp(logs.value))
    return f"{ratio:.3g} ± {ratio * logs.error:.1g}"
