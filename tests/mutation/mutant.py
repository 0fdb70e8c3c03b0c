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
    *(".git", ".venv", ".*_cache", ".hypothesis", "__pycache__", "build", "dist", "results")
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
    folder
        Where its source is, from the root of the repository. Not the file, so that moves and new
        names do not matter.
    original, mutated
        Text that stands in all of its source exactly once, and what replaces it.
    tests
        Arguments of pytest, separated by spaces.
    """

    what: str
    folder: str
    original: str
    mutated: str
    tests: str

    def __str__(self) -> str:
        return f"{self.folder}: {self.what}"

    def find(self, root: Path = ROOT) -> Path:
        """Return the file that holds the original."""
        sources = {path: path.read_text() for path in (root / self.folder).rglob("*.py")}
        count = sum(source.count(self.original) for source in sources.values())
        if count != 1:
            raise MutantError(f"{self}: found {count} times, not once:\n{self.original}")
        return next(path for path, source in sources.items() if self.original in source)

    def killed(self, root: Path) -> bool:
        """Return whether its tests fail in a copy of the repository, and leave that as it was."""
        path = self.find(root)
        source = path.read_text()
        path.write_text(source.replace(self.original, self.mutated))
        try:
            return bool(failure(root, self.tests.split()))
        finally:
            path.write_text(source)


def mutants(folder: str, tests: str, *changes: tuple[str, str, str, str]) -> list[Mutant]:
    """Return mutants of one folder: (what, original, mutated, tests below ``tests``)."""
    return [
        Mutant(what, folder, original, mutated, str(Path(tests, own)))
        for what, original, mutated, own in changes
    ]


@contextmanager
def copied() -> Iterator[Path]:
    """Yield a copy of the repository."""
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
    environment = {
        **os.environ,
        # Before the installed package, which is the repository itself.
        "PYTHONPATH": f"{folder}{os.pathsep}{folder / 'clients'}",
        # A mutant that is as long as the original and written in the same second looks like it.
        "PYTHONDONTWRITEBYTECODE": "1",
    }
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
