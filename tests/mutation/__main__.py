"""``make mutants``: apply one mutant after the other and say which ones the tests kill.

Takes most of an hour: it runs each mutant's own tests, in a copy of the repository.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from tests.mutation import clients, core, kernels, service
from tests.mutation.mutant import Mutant, MutantError, copied, failure

MUTANTS: list[Mutant] = [*kernels.MUTANTS, *core.MUTANTS, *service.MUTANTS, *clients.MUTANTS]


def main() -> int:
    """Parse the command line, judge the mutants, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of the mutants' files or descriptions")
    parser.add_argument("--check", action="store_true", help="only check that they fit the source")
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time (%(default)s)")
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
        require_passing_unchanged(chosen)
        with ThreadPoolExecutor(arguments.jobs) as threads:
            survivors = [mutant for mutant in threads.map(judge, chosen) if mutant is not None]
    except MutantError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} mutants killed")
    for survivor in survivors:
        print(f"survived: {survivor}")
    return 0


def require_fitting(chosen: Sequence[Mutant]) -> None:
    """Try all mutants on one copy, each after the original is put back."""
    failures = []
    with copied() as folder:
        for mutant in chosen:
            path = folder / mutant.file
            source = path.read_text() if path.exists() else ""
            try:
                mutant.apply(folder)
                path.write_text(source)
            except MutantError as error:
                failures.append(str(error))
    if failures:
        raise MutantError("\n".join(failures))


def require_passing_unchanged(chosen: Sequence[Mutant]) -> None:
    """Tests that fail without a mutant would kill every one."""
    tests = sorted({test for mutant in chosen for test in mutant.tests.split()})
    started = time.monotonic()
    with copied() as folder:
        if said := failure(folder, tests, seconds=3600):
            raise MutantError(f"{said}\n\nthe tests fail without any mutant")
    print(f"the tests pass unchanged ({time.monotonic() - started:.0f} s)", flush=True)


def judge(mutant: Mutant) -> Mutant | None:
    """Say whether ``mutant`` is killed; return it if it survives."""
    started = time.monotonic()
    killed = mutant.killed()
    seconds = time.monotonic() - started
    print(f"{'killed' if killed else 'SURVIVED':8} {seconds:4.0f} s  {mutant}", flush=True)
    return None if killed else mutant


if __name__ == "__main__":
    sys.exit(main())
