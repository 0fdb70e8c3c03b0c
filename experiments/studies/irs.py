"""Scheduling with a reflecting surface: how many devices, for which phases, and how fast.

K = 20 devices and N = 6 antennas on the channels of :func:`lab.problems.irs_problems`, the
same ones for every algorithm. Compare times only within one run.
"""

import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.progress import Progress, track
from rich.table import Table

from app.scheduling import IrsProblem, Parameters, solve
from app.scheduling.irs.phases import POLICIES, PhaseUpdate
from app.scheduling.irs.schedulers.matching_pursuit import IrsMatchingPursuitParameters
from app.scheduling.irs.schedulers.untuned import UntunedParameters
from app.scheduling.kernels.surface.algorithm_2 import joint_pursuit
from app.warmup import warm_up
from lab.channels import AMID_DEVICES, BESIDE_SERVER
from lab.oracles import plain_joint_pursuit
from lab.problems import irs_problems

GAMMAS_DB = (-17, -14, -11, -8, -5, -2)
ELEMENTS = (16, 32, 64, 128)
CHANNELS = 40
DC_ELEMENTS = 16
# Other channels than those on which the constants of any algorithm were chosen.
SEED = 7
REPEATS = 15

BY_DUAL = UntunedParameters("dual_pursuit")
ALGORITHMS: dict[str, tuple[str, Parameters | None]] = {
    "dual pursuit": ("dual_pursuit", None),
    "Algorithm 2, mm": ("matching_pursuit", None),
    "Algorithm 2, bcd": ("matching_pursuit", IrsMatchingPursuitParameters(phase_update="bcd")),
    "dc": ("dc", None),
    "random phases, dual": ("random_phases", BY_DUAL),
    "random phases, matching": ("random_phases", None),
    "no surface, dual": ("no_irs", BY_DUAL),
    "no surface, matching": ("no_irs", None),
}
NOT_BELOW = [
    ("dual pursuit", "Algorithm 2, mm"),
    ("dual pursuit", "Algorithm 2, bcd"),
    ("dual pursuit", "dc"),
    ("dual pursuit", "random phases, dual"),
    ("dual pursuit", "no surface, dual"),
    ("Algorithm 2, mm", "random phases, matching"),
    ("Algorithm 2, mm", "no surface, matching"),
    ("Algorithm 2, bcd", "random phases, matching"),
    ("Algorithm 2, bcd", "no surface, matching"),
]
"""Pairs of which the mean of the first should be nowhere below that of the second."""


def main() -> None:
    warm_up()
    selection()
    quantisation()
    speed()


def selection() -> None:
    console = Console(width=160)
    sizes: dict[tuple[int, int, str], list[int]] = {}
    cases = [(elements, "beside the server") for elements in ELEMENTS]
    cases.append((64, "amid the devices"))
    with Progress(transient=True) as progress:
        task = progress.add_task("irs: selection", total=len(cases) * len(GAMMAS_DB) * CHANNELS)
        for elements, where in cases:
            table = Table(
                "γ [dB]",
                *ALGORITHMS,
                title=f"mean |S| (median ms), M = {elements}, surface {where}, {CHANNELS} channels",
            )
            place = BESIDE_SERVER if where == "beside the server" else AMID_DEVICES
            if place is AMID_DEVICES:
                _compare(sizes)
                sizes = {}
            for gamma_db in GAMMAS_DB:
                seconds: dict[str, list[float]] = {}
                for seed, problem in enumerate(
                    irs_problems(CHANNELS, elements, gamma_db, SEED, place=place)
                ):
                    for label, (name, parameters) in ALGORITHMS.items():
                        if name == "dc" and elements != DC_ELEMENTS:
                            continue
                        begun = time.perf_counter()
                        found = solve(problem, name, parameters, seed=seed)
                        seconds.setdefault(label, []).append(time.perf_counter() - begun)
                        size = found.active.size
                        sizes.setdefault((elements, gamma_db, label), []).append(size)
                    progress.advance(task)
                cells = [
                    f"{np.mean(sizes[elements, gamma_db, label]):.2f} "
                    f"({1e3 * np.median(seconds[label]):.1f})"
                    if label in seconds
                    else ""
                    for label in ALGORITHMS
                ]
                table.add_row(str(gamma_db), *cells)
            console.print(table)
    _compare(sizes)


def _compare(sizes: dict[tuple[int, int, str], list[int]]) -> None:
    table = Table("means of", "nowhere below", "points below", "single channels below")
    points = list(dict.fromkeys((elements, gamma_db) for elements, gamma_db, _ in sizes))
    for first, second in NOT_BELOW:
        pairs = [
            (sizes[*point, first], sizes[*point, second])
            for point in points
            if (*point, second) in sizes
        ]
        if not pairs:
            continue
        below = sum(np.mean(one) < np.mean(other) for one, other in pairs)
        single = sum(int(np.sum(np.less(one, other))) for one, other in pairs)
        total = sum(len(one) for one, _ in pairs)
        table.add_row(first, second, f"{below} of {len(pairs)}", f"{single} of {total}")
    Console().print(table)


def quantisation() -> None:
    bits = (1, 2, 3, None)
    for name in ("dual_pursuit", "matching_pursuit"):
        table = Table(
            "M",
            "γ [dB]",
            *(str(count or "continuous") for count in bits),
            title=f"mean |S| of {name} by phase_bits",
        )
        for elements in track(ELEMENTS, f"irs: phase bits, {name}", transient=True):
            for gamma_db in (-14, -8):
                means = [
                    np.mean(
                        [
                            solve(problem, name).active.size
                            for problem in irs_problems(
                                CHANNELS, elements, gamma_db, SEED, phase_bits=count
                            )
                        ]
                    )
                    for count in bits
                ]
                table.add_row(str(elements), str(gamma_db), *(f"{mean:.2f}" for mean in means))
        Console().print(table)


def speed() -> None:
    table = Table(
        "policy",
        "M",
        "mean |S|",
        "alternations",
        "kernel [µs]",
        "µs an alternation",
        "growth",
        "NumPy [µs]",
        "ratio",
        title="Algorithm 2 at -11 dB: the kernel, and the plain NumPy version",
    )
    policies: list[PhaseUpdate] = ["mm", "bcd"]
    for policy in track(policies, "irs: speed", transient=True):
        last = None
        for elements in ELEMENTS:
            problems = irs_problems(20, elements, -11, SEED)
            best = np.full((2, len(problems)), np.inf)
            # One after the other on each repeat, and the best for each problem: less noise.
            for _ in range(REPEATS):
                found, seconds = _timed(_kernel, problems, policy)
                best[0] = np.minimum(best[0], seconds)
                reference, seconds = _timed(_plain, problems, policy)
                best[1] = np.minimum(best[1], seconds)
            fast, slow = best.mean(axis=1)
            assert [size for size, _ in found] == [size for size, _ in reference]
            alternations = float(np.mean([count for _, count in found]))
            each = fast / alternations
            table.add_row(
                policy,
                str(elements),
                f"{np.mean([size for size, _ in found]):.2f}",
                f"{alternations:.1f}",
                f"{fast * 1e6:.0f}",
                f"{each * 1e6:.1f}",
                "" if last is None else f"{each / last:.2f}×",
                f"{slow * 1e6:.0f}",
                f"{slow / fast:.1f}×",
            )
            last = each
    Console(width=120).print(table)


def _kernel(problem: IrsProblem, policy: PhaseUpdate) -> tuple[int, int]:
    _, active, _, alternations = joint_pursuit(
        problem.surface,
        problem.required_gains,
        problem.values,
        0.55,
        POLICIES[policy],
        problem.start(),
        np.zeros(1, np.bool_),
    )
    return int(active.sum()), alternations


def _plain(problem: IrsProblem, policy: PhaseUpdate) -> tuple[int, int]:
    _, active, _, _ = plain_joint_pursuit.backward(
        problem.direct,
        problem.irs_to_server,
        problem.devices_to_irs,
        problem.required_gains,
        0.55,
        policy,
    )
    return int(active.sum()), 0


def _timed(
    run: Callable[[IrsProblem, PhaseUpdate], tuple[int, int]],
    problems: list[IrsProblem],
    policy: PhaseUpdate,
) -> tuple[list[tuple[int, int]], list[float]]:
    """Return what was found, and the seconds that each problem took."""
    found, seconds = [], []
    for problem in problems:
        started = time.perf_counter()
        found.append(run(problem, policy))
        seconds.append(time.perf_counter() - started)
    return found, seconds
