"""Mutants of the core around the kernels: problems, schedulers, polishing, verification."""

from tests.mutation.mutant import mutants

_SCHEDULERS = "app/scheduling/schedulers"
_POLISHING = "tests/scheduling/test_polishing.py"
_ORDERED = "tests/scheduling/test_ordered.py"

MUTANTS = [
    *mutants(
        "app/scheduling/polishing.py",
        _POLISHING,
        ("every join gets all visits again", "most_visits -= visits", "most_visits -= 0"),
        ("every level gets all visits again", "most_visits - visits,", "most_visits,"),
        (
            "a served device may be lost",
            "np.minimum(np.sqrt(problem.required_gains[members]), magnitudes)",
            "np.zeros(members.size)",
        ),
    ),
    *mutants(
        "app/scheduling/plain.py",
        _POLISHING,
        ("an interrupted polish has converged", 'stopped = "deadline"', 'stopped = "converged"'),
    ),
    *mutants(
        "app/scheduling/conic.py",
        "tests/scheduling/test_lifted.py::test_a_hard_solution_with_slack_is_a_failure",
        (
            "a solver's word is trusted",
            "return matrix if np.all(gains >= weights - INFEASIBILITY) else None",
            "return matrix",
        ),
    ),
    *mutants(
        f"{_SCHEDULERS}/ordered.py",
        _ORDERED,
        (
            "round robin starts elsewhere",
            "np.roll(np.arange(problem.devices), -start)",
            "np.roll(np.arange(problem.devices), start)",
        ),
        (
            "round robin goes backwards",
            "order = np.roll(np.arange(problem.devices), -start)",
            "order = (start - np.arange(problem.devices)) % problem.devices",
        ),
        ("averages are multiplied", "gains = gains / averages", "gains = gains * averages"),
    ),
    *mutants(
        f"{_SCHEDULERS}/dual_pursuit.py",
        "tests/scheduling/test_dual_pursuit.py::test_deadline_after_the_first_set",
        (
            "an interrupted search has converged",
            '"deadline" if context.stop[0] else "converged"',
            '"converged"',
        ),
    ),
    *mutants(
        f"{_SCHEDULERS}/dc.py",
        "tests/scheduling/test_baselines.py::test_dc_serves_what_a_converged_dc_should",
        (
            "frees the wrong slacks",
            "weights[members] = self._values[members]",
            "weights[current.order()[-kept:]] = 1.0",
        ),
    ),
    *mutants(
        "app/scheduling/problem.py",
        "tests/scheduling/test_problem.py",
        (
            "errors of the estimates add up in squares",
            "required = (np.sqrt(required) + csi_error) ** 2",
            "required = required + csi_error**2",
        ),
        (
            "served only beyond the constraint",
            "gains >= self.required_gains * (1 - SERVED_TOLERANCE)",
            "gains > self.required_gains",
        ),
    ),
    *mutants(
        "app/scheduling/scheduler.py",
        "tests/scheduling/test_parameters.py",
        ("an upper bound is excluded", "operator.ge, bound.le", "operator.gt, bound.le"),
    ),
    *mutants(
        "app/scheduling/verification.py",
        "tests/scheduling/test_schedule.py",
        (
            "feasible may be said wrongly",
            "if feasible != served or (keeps_tolerance and not served):",
            "if keeps_tolerance and not served:",
        ),
    ),
]
