"""Two versions in turns: what is counted of the time they take."""

from lab.versions import solve_in_turns


def version(seconds):
    """Return a version that takes so long per solve, and a second more when it is first asked."""
    requests = []

    def ask(algorithm, problems):
        requests.append(len(problems))
        return [(seconds + (len(requests) == 1), {"active": problem}) for problem in problems]

    return ask


def test_the_time_that_loading_the_kernels_takes_is_not_counted():
    versions = {"before": version(2e-3), "now": version(1e-3)}
    seconds, schedules = solve_in_turns(versions, "dual_pursuit", [3, 4], turns=2)
    assert seconds == {"before": [2e-3, 2e-3], "now": [1e-3, 1e-3]}
    assert schedules["now"] == [{"active": 3}, {"active": 4}]
