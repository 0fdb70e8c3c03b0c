"""``make mutants``: apply one mutant after the other and say which ones the tests kill.

Takes half an hour: it runs each mutant's own tests, in a copy of the repository.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.mutation.mutant import Mutant, MutantError, copied, failure
from tests.mutation.mutants import MUTANTS


def main() -> int:
    """Parse the command line, judge the mutants, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of the mutants' folders or descriptions")
    parser.add_argument("--check", action="store_true", help="only check that they fit the source")
    arguments = parser.parse_args()
    chosen = [
        mutant
        for mutant in MUTANTS
        if not arguments.names or any(name in str(mutant) for name in arguments.names)
    ]
    try:
        require_fitting(chosen)
        if arguments.check:
            print(f"all {len(chosen)} mutants fit the source")
            return 0
        os.nice(5)
        # One copy for all, so that its kernels are compiled once.
        with copied() as folder:
            require_passing(folder, chosen)
            survivors = [mutant for mutant in chosen if not judge(mutant, folder)]
    except MutantError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} mutants killed")
    for survivor in survivors:
        print(f"survived: {survivor}")
    return 0


def require_fitting(chosen: Sequence[Mutant]) -> None:
    """Find the original of every mutant."""
    failures = []
    for mutant in chosen:
        try:
            mutant.find()
        except MutantError as error:
            failures.append(str(error))
    if failures:
        raise MutantError("\n".join(failures))


def require_passing(folder: Path, chosen: Sequence[Mutant]) -> None:
    """Tests that fail without a mutant would kill every one."""
    tests = sorted({test for mutant in chosen for test in mutant.tests.split()})
    started = time.monotonic()
    if said := failure(folder, tests, seconds=3600):
        raise MutantError(f"{said}\n\nthe tests fail without any mutant")
    print(f"the tests pass unchanged ({time.monotonic() - started:.0f} s)", flush=True)


def judge(mutant: Mutant, folder: Path) -> bool:
    """Return whether ``mutant`` is killed, and say so."""
    started = time.monotonic()
    killed = mutant.killed(folder)
    seconds = time.monotonic() - started
    print(f"{'killed' if killed else 'SURVIVED':8} {seconds:4.0f} s  {mutant}", flush=True)
    return killed


if __name__ == "__main__":
    sys.exit(main())
