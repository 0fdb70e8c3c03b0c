"""The synchronous client; :mod:`.async_client` has the same calls for asyncio and trio."""

import warnings
from time import monotonic, sleep
from types import TracebackType
from typing import Any, Self, Unpack

import httpx
from numpy.typing import ArrayLike

from airsched_client import _calls
from airsched_client._arrays import Layout
from airsched_client._calls import Call, Result
from airsched_client._connection import connection, pool
from airsched_client._retry import RetryRule, failure_of
from airsched_client._wire import Encoding, EncodingName
from airsched_client.errors import AirschedError
from airsched_client.frontier import Frontier
from airsched_client.models import Algorithm, IrsSchedule, Schedule, WidebandSchedule
from airsched_client.options import (
    FrontierOptions,
    IrsOptions,
    ScheduleOptions,
    WidebandOptions,
)


class SchedulerClient:
    """A client with one pool of connections; threads may share it.

    Parameters
    ----------
    base_url
        Address of the service, such as ``http://127.0.0.1:8000``; without one, that in the
        environment variable ``AIRSCHED_URL``.
    api_key
        Bearer key, if the service requires one; without one, that in ``AIRSCHED_API_KEY``, if any.
    timeout
        Seconds to wait for an answer; the default is a little above the service's own limit. A call
        with a longer ``deadline_ms`` waits for longer than that.
    retries
        How often a call is repeated at most when the connection fails or the service says that
        repeating can help, after a random wait that doubles, and not sooner than the service's
        ``Retry-After``. Scheduling is stateless, so repeating is safe. :class:`Patience` repeats
        for a number of seconds instead.
    encoding
        ``msgpack``, or ``json`` for readable bodies.
    max_connections
        Size of the pool.
    transport
        An httpx transport to use in place of the network, for example in tests.
    http_client
        An httpx client of your own, for proxies, certificates or hooks; you close it yourself.
    """

    def __init__(
        self,
        base_url: str | None = None,
        *,
        api_key: str | None = None,
        timeout: float = 35.0,
        retries: int | RetryRule = 2,
        encoding: EncodingName = "msgpack",
        max_connections: int = 100,
        transport: httpx.BaseTransport | None = None,
        http_client: httpx.Client | None = None,
    ) -> None:
        self._connection = connection(base_url, api_key, timeout, retries, encoding)
        self._max_connections, self._portable = max_connections, not (transport or http_client)
        self._owns_http = http_client is None
        self._http = http_client or httpx.Client(transport=transport, **pool(max_connections))

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process needs to make a client of its own."""
        if not self._portable:
            raise TypeError("a client with its own transport or http_client cannot be pickled")
        return {"_connection": self._connection, "_max_connections": self._max_connections}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _portable=True, _owns_http=True)
        self._http = httpx.Client(**pool(self._max_connections))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections, unless they belong to an ``http_client`` of yours."""
        if self._owns_http:
            self._http.close()

    def with_options(
        self,
        *,
        timeout: float | None = None,
        retries: int | RetryRule | None = None,
        api_key: str | None = None,
    ) -> Self:
        """Return a client with other options that shares this one's connections."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__, _owns_http=False)
        other._connection = self._connection.with_options(timeout, retries, api_key)
        return other

    def schedule(
        self,
        channels: ArrayLike,
        *,
        layout: Layout = "antennas_first",
        timeout: float | None = None,
        **options: Unpack[ScheduleOptions],
    ) -> Schedule:
        """Schedule one round.

        Parameters
        ----------
        channels
            (N, K) complex: column k is device k's uplink channel. Leading axes of length one are
            dropped; complex64 is sent as it is.
        layout
            ``devices_first`` if ``channels`` is (K, N).
        timeout
            Seconds to wait for this answer, in place of the client's.
        options
            Exactly one of ``gamma``, ``gamma_db`` and ``max_error``; ``weights``, ``power``,
            ``noise_variance``, ``noise_covariance``, ``excluded``, ``required``, ``previous``,
            ``device_ids``, ``algorithm``, ``csi_error``, ``coordination``,
            ``polish``, ``warm_start``, ``bound``, ``bound_ms``, ``deadline_ms``, ``seed``,
            ``priorities``: see :class:`ScheduleOptions`.

        Raises
        ------
        ValueError
            An array has the wrong shape; nothing was sent.
        AirschedError
            There was no answer, or an error: see :mod:`.errors`.
        """
        return self._send(_calls.schedule(self._encoding, channels, layout, options), timeout)

    def schedule_irs(
        self,
        direct: ArrayLike,
        irs_to_server: ArrayLike,
        devices_to_irs: ArrayLike,
        *,
        layout: Layout = "antennas_first",
        timeout: float | None = None,
        **options: Unpack[IrsOptions],
    ) -> IrsSchedule:
        """Schedule one round with an intelligent reflecting surface.

        Parameters
        ----------
        direct
            (N, K) complex, channels from the devices to the server.
        irs_to_server
            (N, M) complex, channels from the M elements of the surface to the server.
        devices_to_irs
            (M, K) complex, channels from the devices to the surface.
        layout
            ``devices_first`` if ``direct`` is (K, N) and ``devices_to_irs`` (K, M).
        timeout
            As for :meth:`schedule`.
        options
            As for :meth:`schedule`, and ``phase_bits``, ``initial_phases``: see
            :class:`IrsOptions`.

        Raises
        ------
        ValueError, AirschedError
            As for :meth:`schedule`; :class:`NotFoundError` from a service without the route.
        """
        return self._send(
            _calls.schedule_irs(
                self._encoding, direct, irs_to_server, devices_to_irs, layout, options
            ),
            timeout,
        )

    def schedule_batch(
        self,
        channels: ArrayLike,
        *,
        layout: Layout = "antennas_first",
        timeout: float | None = None,
        batch_size: int | None = None,
        **options: Unpack[ScheduleOptions],
    ) -> tuple[Schedule, ...]:
        """Schedule many rounds or subcarriers; they share all other options.

        Parameters
        ----------
        channels
            (B, N, K) complex.
        layout
            ``devices_first`` if ``channels`` is (B, K, N).
        batch_size
            Rounds per request; without it, as many as the service takes by default. A larger batch
            is split.
        timeout, options
            As for :meth:`schedule`, for each request.

        Returns
        -------
        B schedules, in order.

        Raises
        ------
        ValueError, AirschedError
            As for :meth:`schedule`; :class:`NotFoundError` from a service without the route.
        """
        calls = _calls.schedule_batch(self._encoding, channels, layout, options, batch_size)
        return tuple(schedule for call in calls for schedule in self._send(call, timeout))

    def schedule_wideband(
        self,
        channels: ArrayLike,
        *,
        layout: Layout = "antennas_first",
        timeout: float | None = None,
        **options: Unpack[WidebandOptions],
    ) -> WidebandSchedule:
        """Schedule one round over a band: one set of devices, one receiver on every subcarrier.

        Parameters
        ----------
        channels
            (F, N, K) complex: matrix f is that of subcarrier f.
        layout
            ``devices_first`` if ``channels`` is (F, K, N).
        options
            As for :meth:`schedule`, with ``warm_start`` (F, N), and ``criterion``: see
            :class:`WidebandOptions`.

        Raises
        ------
        ValueError, AirschedError
            As for :meth:`schedule`; :class:`NotFoundError` from a service without the route.
        """
        call = _calls.schedule_wideband(self._encoding, channels, layout, options)
        return self._send(call, timeout)

    def schedule_frontier(
        self,
        channels: ArrayLike,
        *,
        layout: Layout = "antennas_first",
        timeout: float | None = None,
        **options: Unpack[FrontierOptions],
    ) -> Frontier:
        """Schedule one round at every tolerance: more devices for more error.

        Parameters
        ----------
        channels, layout, timeout
            As for :meth:`schedule`.
        options
            As for :meth:`schedule` without a tolerance, ``polish`` and ``bound``;
            ``min_devices`` and ``max_error`` leave out points: see :class:`FrontierOptions`.

        Returns
        -------
        The points, and rules to choose one, such as :meth:`Frontier.best`.

        Raises
        ------
        ValueError, AirschedError
            As for :meth:`schedule`; :class:`NotFoundError` from a service without the route.
        """
        return self._send(
            _calls.schedule_frontier(self._encoding, channels, layout, options), timeout
        )

    def frontier(
        self,
        channels: ArrayLike,
        *,
        layout: Layout = "antennas_first",
        timeout: float | None = None,
        **options: Unpack[FrontierOptions],
    ) -> Frontier:
        """Call :meth:`schedule_frontier`: a deprecated name, to be removed in the next release."""
        warnings.warn(_calls.RENAMED, DeprecationWarning, stacklevel=2)
        return self.schedule_frontier(channels, layout=layout, timeout=timeout, **options)

    def algorithms(self) -> tuple[Algorithm, ...]:
        """Return the service's algorithms with their parameters, defaults and bounds."""
        return self._send(_calls.ALGORITHMS)

    def ready(self) -> bool:
        """Return whether the service can schedule now; does not retry."""
        try:
            return self._http.request(**self._connection.request(_calls.READY)).is_success
        except httpx.RequestError:
            return False

    def wait_until_ready(self, timeout: float = 60.0) -> None:
        """Wait until the service can schedule.

        Raises
        ------
        ServiceDownError
            It could not within ``timeout`` seconds.
        """
        ends = monotonic() + timeout
        while True:
            left = max(ends - monotonic(), _calls.READY_PERIOD)
            if self.with_options(timeout=min(left, self._connection.timeout)).ready():
                return
            if monotonic() >= ends:
                raise _calls.not_ready(self._connection.base_url, timeout)
            sleep(_calls.READY_PERIOD)

    @property
    def _encoding(self) -> Encoding:
        return self._connection.encoding

    def _send(self, call: Call[Result], timeout: float | None = None) -> Result:
        began, failures = monotonic(), list[AirschedError]()
        while True:
            try:
                return call.result(self._http.request(**self._connection.request(call, timeout)))
            except (httpx.RequestError, AirschedError) as error:
                failures.append(failure_of(error))
            sleep(self._connection.retries.wait(failures, monotonic() - began))
