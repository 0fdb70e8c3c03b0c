"""One mutant: a change of one place in the source, and the tests that must fail with it."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
TIMEOUT_SECONDS = 300
"""A mutant that makes the tests take longer hangs, which they have noticed."""

_NOT_COPIED = shutil.ignore_patterns(
    *(".git", ".venv", ".*_cache", ".hypothesis", "build", "dist", "results")
)
_PASSED, _FAILED = 0, 1
"""Exit codes of pytest; all others mean that it did not run the tests."""


class MutantError(Exception):
    """A mutant cannot be judged: it does not fit the source, or its tests do not run."""


@dataclass(frozen=True)
class Mutant:
    """A defect.

    Parameters
    ----------
    what
        What is wrong with it, in words.
    file
        The source file, from the root of the repository.
    original, mutated
        Text that stands in the file exactly once, and what replaces it.
    tests
        Arguments of pytest, separated by spaces.
    """

    what: str
    file: str
    original: str
    mutated: str
    tests: str

    def __str__(self) -> str:
        return f"{self.file}: {self.what}"

    def apply(self, folder: Path) -> None:
        """Change the copy of the repository in ``folder``."""
        path = folder / self.file
        if not path.exists():
            raise MutantError(f"{self}: there is no such file")
        source = path.read_text()
        count = source.count(self.original)
        if count != 1:
            raise MutantError(f"{self}: found {count} times, not once:\n{self.original}")
        path.write_text(source.replace(self.original, self.mutated))

    def killed(self) -> bool:
        """Return whether its tests fail."""
        with copied() as folder:
            self.apply(folder)
            return bool(failure(folder, self.tests.split()))


def mutants(file: str, tests: str, *changes: Sequence[str]) -> list[Mutant]:
    """Return mutants of one file: (what, original, mutated), and tests of its own as a fourth."""
    return [
        Mutant(what, file, original, mutated, own[0] if own else tests)
        for what, original, mutated, *own in changes
    ]


@contextmanager
def copied() -> Iterator[Path]:
    """Yield a copy of the repository, with the kernels as they are compiled in it."""
    with tempfile.TemporaryDirectory(prefix="airsched-mutant-") as folder:
        copy = Path(folder) / "airsched"
        shutil.copytree(ROOT, copy, ignore=_NOT_COPIED)
        yield copy


def failure(folder: Path, tests: Sequence[str], seconds: float = TIMEOUT_SECONDS) -> str:
    """Run ``tests`` in a copy of the repository; return how they fail, nothing if they pass."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    if all(test.startswith("tests/scheduling") for test in tests):
        # They need no service: compile only what they call.
        command.append("--noconftest")
    # Before the installed package, which is the repository itself.
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{folder / 'clients'}"}
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True
        )
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            return f"they take more than {seconds:g} s"
        finally:
            # With everything that a mutant has left running.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        log.seek(0)
        said = log.read().decode(errors="replace")[-3000:]
    if code not in (_PASSED, _FAILED):
        raise MutantError(f"pytest ended with {code}:\n{said}")
    return said if code == _FAILED else ""
