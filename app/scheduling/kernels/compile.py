"""How every kernel is compiled, and a disk cache that notices when any kernel changes."""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit

Kernel = TypeVar("Kernel", bound=Callable[..., object])

_FOLDER = Path(__file__).parent
_CACHE = _FOLDER / "__pycache__"


def compiled(function: Kernel) -> Kernel:
    """Compile ``function`` without the GIL and cache the result beside its source.

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
    try:
        return cast(Kernel, njit(cache=True, **options)(function))
    except RuntimeError:
        # No place to write a cache, such as on a read-only disk: compile in every process.
        return cast(Kernel, njit(**options)(function))


def _forget_stale_kernels() -> None:
    """Drop the cache if any kernel source has changed.

    Numba checks only a function's own file, and would keep using a kernel after a helper in another
    file was edited.
    """
    sources = sorted(_FOLDER.rglob("*.py"))
    digest = sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    stamp = _CACHE / "kernels.sha256"
    try:
        if stamp.exists() and stamp.read_text() == digest:
            return
        _CACHE.mkdir(exist_ok=True)
        for pattern in ("*.nbi", "*.nbc"):
            for path in _FOLDER.rglob(pattern):
                path.unlink(missing_ok=True)
        stamp.write_text(digest)
    except OSError:
        # A read-only installation cannot have been edited since it was compiled.
        return


_forget_stale_kernels()
