"""Compiled loops: arithmetic only, no policy, no validation.

Every kernel is compiled with :func:`compiled`, releases the GIL and is cached on disk, so a
restarted process is ready at once.
"""

from app.scheduling.kernels.compile import compiled

__all__ = ["compiled"]
