"""Where numba finds the kernels of the image: beside their source, where nobody may write."""

from numba.core.caching import InTreeCacheLocator


class ReadOnlyCacheLocator(InTreeCacheLocator):
    """Reads the kernels that were compiled with the image.

    Numba would use a cache only where it may also write. Here it need not: every kernel is there,
    for the processor that the image names.
    """

    def ensure_cache_path(self) -> None:
        """Ask for nothing."""
