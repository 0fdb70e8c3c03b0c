"""The client for asyncio and trio: the calls of :class:`SchedulerClient` as coroutines."""

import warnings
from time import monotonic
from types import TracebackType
from typing import Self, Unpack

import httpx
from anyio import sleep
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


class AsyncSchedulerClient:
    """A client with one pool of connections, for many calls at once.

    Parameters
    ----------
    base_url, api_key, timeout, retries, encoding, max_connections
        As for :class:`SchedulerClient`.
    transport, http_client
        As for :class:`SchedulerClient`, but the asynchronous classes of httpx.
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
        transport: httpx.AsyncBaseTransport | None = None,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        self._connection = connection(base_url, api_key, timeout, retries, encoding)
        self._owns_http = http_client is None
        self._http = http_client or httpx.AsyncClient(transport=transport, **pool(max_connections))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections, unless they belong to an ``http_client`` of yours."""
        if self._owns_http:
            await self._http.aclose()

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

    async def schedule(
        self,
        channels: ArrayLike,
        *,
        layout: Layout = "antennas_first",
        timeout: float | None = None,
        **options: Unpack[ScheduleOptions],
    ) -> Schedule:
        """Schedule one round of ``channels`` (N, K), as :meth:`SchedulerClient.schedule` does."""
        return await self._send(_calls.schedule(self._encoding, channels, layout, options), timeout)

    async def schedule_irs(
        self,
        direct: ArrayLike,
        irs_to_server: ArrayLike,
        devices_to_irs: ArrayLike,
        *,
        layout: Layout = "antennas_first",
        timeout: float | None = None,
        **options: Unpack[IrsOptions],
    ) -> IrsSchedule:
        """Schedule one round with a surface, as :meth:`SchedulerClient.schedule_irs` does.

        ``direct`` is (N, K), ``irs_to_server`` (N, M), ``devices_to_irs`` (M, K).
        """
        return await self._send(
            _calls.schedule_irs(
                self._encoding, direct, irs_to_server, devices_to_irs, layout, options
            ),
            timeout,
        )

    async def schedule_batch(
        self,
        channels: ArrayLike,
        *,
        layout: Layout = "antennas_first",
        timeout: float | None = None,
        batch_size: int | None = None,
        **options: Unpack[ScheduleOptions],
    ) -> tuple[Schedule, ...]:
        """Schedule ``channels`` (B, N, K), as :meth:`SchedulerClient.schedule_batch` does."""
        calls = _calls.schedule_batch(self._encoding, channels, layout, options, batch_size)
        found: list[Schedule] = []
        for call in calls:
            some = await self._send(call, timeout)
            found += some
        return tuple(found)

    async def schedule_wideband(
        self,
        channels: ArrayLike,
        *,
        layout: Layout = "antennas_first",
        timeout: float | None = None,
        **options: Unpack[WidebandOptions],
    ) -> WidebandSchedule:
        """Schedule a band (F, N, K), as :meth:`SchedulerClient.schedule_wideband` does."""
        call = _calls.schedule_wideband(self._encoding, channels, layout, options)
        return await self._send(call, timeout)

    async def schedule_frontier(
        self,
        channels: ArrayLike,
        *,
        layout: Layout = "antennas_first",
        timeout: float | None = None,
        **options: Unpack[FrontierOptions],
    ) -> Frontier:
        """Schedule ``channels`` (N, K) at every tolerance.

        As :meth:`SchedulerClient.schedule_frontier` does.
        """
        return await self._send(
            _calls.schedule_frontier(self._encoding, channels, layout, options), timeout
        )

    async def frontier(
        self,
        channels: ArrayLike,
        *,
        layout: Layout = "antennas_first",
        timeout: float | None = None,
        **options: Unpack[FrontierOptions],
    ) -> Frontier:
        """Call :meth:`schedule_frontier`: a deprecated name, to be removed in the next release."""
        warnings.warn(_calls.RENAMED, DeprecationWarning, stacklevel=2)
        return await self.schedule_frontier(channels, layout=layout, timeout=timeout, **options)

    async def algorithms(self) -> tuple[Algorithm, ...]:
        """Return the service's algorithms with their parameters, defaults and bounds."""
        return await self._send(_calls.ALGORITHMS)

    async def ready(self) -> bool:
        """Return whether the service can schedule now; does not retry."""
        try:
            response = await self._http.request(**self._connection.request(_calls.READY))
        except httpx.RequestError:
            return False
        return response.is_success

    async def wait_until_ready(self, timeout: float = 60.0) -> None:
        """Wait until the service can schedule, as :meth:`SchedulerClient.wait_until_ready`."""
        ends = monotonic() + timeout
        while True:
            left = max(ends - monotonic(), _calls.READY_PERIOD)
            if await self.with_options(timeout=min(left, self._connection.timeout)).ready():
                return
            if monotonic() >= ends:
                raise _calls.not_ready(self._connection.base_url, timeout)
            await sleep(_calls.READY_PERIOD)

    @property
    def _encoding(self) -> Encoding:
        return self._connection.encoding

    async def _send(self, call: Call[Result], timeout: float | None = None) -> Result:
        began, failures = monotonic(), list[AirschedError]()
        while True:
            request = self._connection.request(call, timeout)
            try:
                return call.result(await self._http.request(**request))
            except (httpx.RequestError, AirschedError) as error:
                failures.append(failure_of(error))
            await sleep(self._connection.retries.wait(failures, monotonic() - began))
