"""How kernels are compiled and kept: a folder named by a digest of everything that affects them.

Numba compares only a function's own file with its cache, and would keep using a kernel after a
helper in another file was changed. So the folder carries a digest of all kernels, of the versions
that compile them and of the processor: another set of kernels is another folder.
"""

import fcntl
import platform
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar, cast

import llvmlite
import numba
import numpy as np
from llvmlite import binding
from numba.misc.appdirs import AppDirs

Kernel = TypeVar("Kernel", bound=Callable[..., object])

_SOURCES = Path(__file__).parent


def compiled(function: Kernel) -> Kernel:
    """Compile ``function`` without the GIL and keep the result in :data:`CACHE`.

    Fused multiply-add is allowed; reassociation is not, so a sum has the same order everywhere.
    """
    return _compiled(function, {"contract"})


def vectorised(function: Kernel) -> Kernel:
    """As :func:`compiled`, with sums in whatever order is quickest on this processor.

    So dot products use its vector registers, and the last digits depend on its kind. NaN and
    infinity are those of the formulas.
    """
    return _compiled(function, {"contract", "reassoc", "nsz"})


def _compiled(function: Kernel, fastmath: set[str]) -> Kernel:
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": fastmath}
    before = numba.config.CACHE_DIR
    # Numba looks at it while it decorates.
    numba.config.CACHE_DIR = str(CACHE or "")
    try:
        return cast(Kernel, numba.njit(cache=CACHE is not None, **options)(function))
    finally:
        numba.config.CACHE_DIR = before


def lock_path() -> Path:
    """Return the file that is locked while kernels of this installation are compiled."""
    if CACHE is None:
        raise OSError("there is no folder to keep the kernels in: set NUMBA_CACHE_DIR to one")
    return CACHE.parent / f"{_owner()}.lock"


def remove_superseded() -> None:
    """Remove what this installation had compiled before, unless it is compiling again."""
    with lock_path().open("w") as lock, suppress(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for folder in lock_path().parent.glob(f"{_owner()}-*"):
            if folder != CACHE:
                shutil.rmtree(folder, ignore_errors=True)


def _cache() -> Path | None:
    """Return the folder of this set of kernels; None if there is no place for it."""
    name = f"{_owner()}-{_digest()[:16]}"
    for place in _places():
        folder = place / name
        # Numba asks for more than reading, unless it is told how to find the cache.
        if getattr(numba.config, "CACHE_LOCATOR_CLASSES", "") and folder.exists():
            return folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except OSError:
            continue
    return None


def _places() -> Iterator[Path]:
    """Yield where kernels may be kept, as numba does: as told, beside the source, at home."""
    if numba.config.CACHE_DIR:
        yield Path(numba.config.CACHE_DIR)
    yield _SOURCES / "__pycache__"
    yield Path(AppDirs(appname="numba", appauthor=False).user_cache_dir)


def _owner() -> str:
    """Name this installation: others that keep their kernels in the same place have other names.

    Environments that use one source with the same versions are one, and compile once.
    """
    installation = (str(_SOURCES), _versions(), _processor())
    return f"airsched-{sha256(repr(installation).encode()).hexdigest()[:8]}"


def _versions() -> tuple[str, ...]:
    return platform.python_version(), numba.__version__, llvmlite.__version__, np.__version__


def _digest() -> str:
    """Return the digest of what decides which machine code there is."""
    digest = sha256(repr((_versions(), _processor())).encode())
    for path in sorted(_SOURCES.rglob("*.py")):
        digest.update(f"{path.relative_to(_SOURCES)}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _processor() -> tuple[str, str]:
    """Return the processor that numba compiles for: this one, unless it is told another."""
    name, features = numba.config.CPU_NAME, numba.config.CPU_FEATURES
    return (
        binding.get_host_cpu_name() if name is None else name,
        binding.get_host_cpu_features().flatten() if features is None else features,
    )


CACHE = _cache()
"""Where numba keeps the kernels of this process; None if it cannot keep them."""
