"""Calls side by side, through joblib: on this machine's cores, or on a Dask or Ray cluster.

Inside ``joblib.parallel_config("dask")`` or ``("ray")`` the calls run on that cluster.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from airsched_client._extras import install_hint

Result = TypeVar("Result")

_CALLS_PER_JOB = 4


def as_finished(
    function: Callable[..., Result], calls: Sequence[Mapping[str, Any]], jobs: int
) -> Iterator[tuple[int, Result]]:
    """Yield the number of every call and its result, as soon as it is there.

    Parameters
    ----------
    function
        A function of a module.
    calls
        The arguments of every call.
    jobs
        Calls at the same time, −1 for one per core; a cluster decides for itself. With 1 they run
        in this process, one after the other.
    """
    if jobs == 1:
        for number, arguments in enumerate(calls):
            yield number, function(**arguments)
        return
    try:
        import joblib
    except ImportError as error:
        raise ImportError(f"{error}: {install_hint('federated')}") from error
    work = [joblib.delayed(_numbered)(at, function, given) for at, given in enumerate(calls)]
    used, _ = joblib.parallel.get_active_backend()
    if used.supports_return_generator:
        try:
            yield from joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")(work)
        except KeyboardInterrupt:
            _kill_workers()
            raise
        return
    # Ray returns all results at once: in batches, so a stop loses no more than one of them.
    some = _CALLS_PER_JOB * joblib.effective_n_jobs(jobs)
    for first in range(0, len(work), some):
        yield from joblib.Parallel(n_jobs=jobs)(work[first : first + some])


def _numbered(
    at: int, function: Callable[..., Result], arguments: Mapping[str, Any]
) -> tuple[int, Result]:
    return at, function(**arguments)


def _kill_workers() -> None:
    """Kill this machine's worker processes with all that they started; they would first finish."""
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=False, kill_workers=True)
