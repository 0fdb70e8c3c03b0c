"""Solves problems with the code in its folder, for :mod:`benchmarks.solver_versions`.

It reads pickled ``(algorithm, problems)`` from its input, each problem as channels, weights and γ,
and writes ``(seconds of processor time, devices served)`` of each. It uses only what every version
has.
"""

import pickle
import sys
import time

from app.scheduling import Problem, solve


def main() -> None:
    while True:
        try:
            algorithm, stated = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        found = []
        for problem in [Problem(*each) for each in stated]:
            begun = time.thread_time()
            schedule = solve(problem, algorithm)
            found.append((time.thread_time() - begun, schedule.active.size))
        pickle.dump(found, sys.stdout.buffer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
