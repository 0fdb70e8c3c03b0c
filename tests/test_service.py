"""What is compiled at the start is all that there is to compile."""

import importlib
import pkgutil

import numpy as np
from numba.core.dispatcher import Dispatcher

from app.scheduling import kernels, schedulers_of, solve
from app.warmup import warm_up
from lab.problems import random_irs_problem, random_problem


def compiled_signatures():
    found = {}
    for info in pkgutil.walk_packages(kernels.__path__, f"{kernels.__name__}."):
        for name, value in vars(importlib.import_module(info.name)).items():
            if isinstance(value, Dispatcher):
                found[f"{info.name}.{name}"] = set(value.signatures)
    return found


def test_no_request_waits_for_a_compiler():
    warm_up()
    before = compiled_signatures()
    assert before
    rng = np.random.default_rng(70)
    for _ in range(40):
        for problem in (random_problem(rng, 8), random_irs_problem(rng, 8)):
            start = np.ones(problem.antennas, complex)
            start.flags.writeable = bool(rng.integers(2))
            for name, scheduler in schedulers_of(problem).items():
                for parameters in scheduler.variants():
                    solve(problem, name, parameters)
                    options = {"coordination": "mmse", "polish": True}
                    solve(problem, name, parameters, seed=1, warm_start=start, **options)
    assert compiled_signatures() == before
