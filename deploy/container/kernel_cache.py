"""Makes numba read the image's kernels from a read-only folder."""

from numba.core.caching import UserProvidedCacheLocator


class ReadOnlyCacheLocator(UserProvidedCacheLocator):
    """Reads the kernels that were compiled with the image.

    Numba uses a cache only if it can also write to it. Here it does not need to: the cache holds
    every kernel, compiled for the image's processor.
    """

    def ensure_cache_path(self) -> None:
        """Do not require write access."""
