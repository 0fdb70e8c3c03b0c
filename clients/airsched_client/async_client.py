"""The asyncio client: the calls of :class:`SchedulerClient` as coroutines."""

from asyncio import sleep
from types import TracebackType
from typing import Self, Unpack

import httpx
from numpy.typing import ArrayLike

from airsched_client import _calls
from airsched_client._arrays import Layout
from airsched_client._calls import Call, Result
from airsched_client._connection import connection
from airsched_client._wire import EncodingName
from airsched_client.errors import AirschedError
from airsched_client.frontier import Frontier
from airsched_client.models import Algorithm, IrsSchedule, Schedule
from airsched_client.options import FrontierOptions, IrsOptions, ScheduleOptions


class AsyncSchedulerClient:
    """A client with one pool of connections, for many calls at once.

    Parameters
    ----------
    base_url, api_key, timeout, retries, encoding, max_connections
        As for :class:`SchedulerClient`.
    transport
        An asynchronous httpx transport to use in place of the network, for example in tests.
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        timeout: float = 35.0,
        retries: int = 2,
        encoding: EncodingName = "msgpack",
        max_connections: int = 100,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        made = connection(base_url, api_key, timeout, retries, encoding, max_connections)
        self._encoding, self._retries = made.encoding, made.retries
        self._http = httpx.AsyncClient(transport=transport, **made.http)

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
        """Close the connections."""
        await self._http.aclose()

    async def schedule(
        self,
        channels: ArrayLike,
        *,
        layout: Layout = "antennas_first",
        **options: Unpack[ScheduleOptions],
    ) -> Schedule:
        """Schedule one round of ``channels`` (N, K), as :meth:`SchedulerClient.schedule` does."""
        return await self._send(_calls.schedule(self._encoding, channels, layout, options))

    async def schedule_irs(
        self,
        direct: ArrayLike,
        irs_to_server: ArrayLike,
        devices_to_irs: ArrayLike,
        *,
        layout: Layout = "antennas_first",
        **options: Unpack[IrsOptions],
    ) -> IrsSchedule:
        """Schedule one round with a surface, as :meth:`SchedulerClient.schedule_irs` does.

        ``direct`` is (N, K), ``irs_to_server`` (N, M), ``devices_to_irs`` (M, K).
        """
        return await self._send(
            _calls.schedule_irs(
                self._encoding, direct, irs_to_server, devices_to_irs, layout, options
            )
        )

    async def schedule_batch(
        self,
        channels: ArrayLike,
        *,
        layout: Layout = "antennas_first",
        **options: Unpack[ScheduleOptions],
    ) -> tuple[Schedule, ...]:
        """Schedule ``channels`` (B, N, K), as :meth:`SchedulerClient.schedule_batch` does."""
        return await self._send(_calls.schedule_batch(self._encoding, channels, layout, options))

    async def frontier(
        self,
        channels: ArrayLike,
        *,
        layout: Layout = "antennas_first",
        **options: Unpack[FrontierOptions],
    ) -> Frontier:
        """Schedule ``channels`` (N, K) at every tolerance, as :meth:`SchedulerClient.frontier`."""
        return await self._send(_calls.frontier(self._encoding, channels, layout, options))

    async def algorithms(self) -> tuple[Algorithm, ...]:
        """Return the service's algorithms with their parameters, defaults and bounds."""
        return await self._send(_calls.ALGORITHMS)

    async def ready(self) -> bool:
        """Return whether the service can schedule now; does not retry."""
        try:
            return (await self._http.get(_calls.READY)).is_success
        except httpx.RequestError:
            return False

    async def _send(self, call: Call[Result]) -> Result:
        repeated = 0
        while True:
            try:
                return call.result(await self._http.request(**call.request))
            except (httpx.RequestError, AirschedError) as error:
                wait = self._retries.wait(error, repeated)
            await sleep(wait)
            repeated += 1
