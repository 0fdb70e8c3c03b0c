"""The service as it is beside an earlier revision, to compare them in one run."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BEFORE, NOW = "before", "now"


@contextmanager
def checkouts(revision: str | None) -> Iterator[dict[str, Path]]:
    """Yield the folders of the earlier revision, if there is one, and of this version, by name.

    The kernels of the earlier one are compiled; a folder in its place is taken as it is.
    """
    if revision is None or Path(revision, "app").is_dir():
        yield ({} if revision is None else {BEFORE: Path(revision)}) | {NOW: Path.cwd()}
        return
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / BEFORE
        subprocess.run(
            ["git", "worktree", "add", "--quiet", "--detach", folder, revision], check=True
        )
        try:
            print(f"compiling the kernels of {revision}", file=sys.stderr)
            # Older revisions call the module compilation.
            command = "warmup" if (folder / "app/warmup.py").exists() else "compilation"
            subprocess.run([sys.executable, "-m", f"app.{command}"], cwd=folder, check=True)
            yield {BEFORE: folder, NOW: Path.cwd()}
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", folder], check=True)
